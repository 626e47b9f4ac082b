"""Random numbers that are equal on every machine, with every NumPy, and on a GPU.

Only the raw output of the Philox counter generator is used, whose stream NumPy guarantees (a kernel makes the same words
on a GPU), and only operations that IEEE 754 defines to the last bit: no logarithm, no library function whose last digit
differs between machines.
"""

import hashlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cudanalyst.kernels.arrays import ArrayModule
from cudanalyst.kernels.dtypes import Array
from cudanalyst.kernels.philox import words_on_device, words_on_host

WORDS_PER_NORMAL: Final = 3
_NORMAL_PARTS: Final = 4 * WORDS_PER_NORMAL
_HOST_BLOCK: Final = 1 << 14
_DEVICE_BLOCK: Final = 1 << 24
_EVEN_PARTS: Final = np.uint64(0x0000FFFF0000FFFF)
_LOW_HALF: Final = np.uint64(0xFFFFFFFF)


class Draws:
    """A stream of draws, named by a key. The order in which parts of it are drawn does not change them."""

    def __init__(self, *key: str | int | bytes, arrays: ArrayModule = np) -> None:
        """Starts the stream of a key; parts are length-prefixed, so that no two keys coincide.

        Args:
            key: What names the stream.
            arrays: Array module whose arrays are drawn: NumPy, or CuPy for the same values on a GPU.
        """
        digest = hashlib.sha256()
        for part in key:
            data = part if isinstance(part, bytes) else str(part).encode()
            digest.update(len(data).to_bytes(8, "big") + data)
        self._key = int.from_bytes(digest.digest()[:16], "big")
        self._next = 0
        self.arrays = arrays

    def seek(self, word: int) -> None:
        """Goes to a word of the stream, counted from 0."""
        self._next = word

    def bits(self, count: int) -> NDArray[np.uint64]:
        """`count` words of 64 random bits."""
        first, self._next = self._next, self._next + count
        if self.arrays is np:
            return words_on_host(self._key, first, count)
        drawn: NDArray[np.uint64] = words_on_device(self.arrays, self._key, first, count)
        return drawn

    def unit(self, count: int) -> NDArray[np.float64]:
        """Uniform in [0, 1), multiples of 2**-53."""
        return (self.bits(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def normal(self, count: int) -> NDArray[np.float64]:
        """Mean 0, variance 1, within +-6: the sum of twelve uniform 16-bit numbers (Irwin-Hall)."""
        # In blocks: on the host they stay in the cache, on a device the twelve-fold words would not fit.
        block = _HOST_BLOCK if self.arrays is np else _DEVICE_BLOCK
        drawn: NDArray[np.float64] = self.arrays.empty(count, dtype=np.float64)
        for start in range(0, count, block):
            stop = min(start + block, count)
            drawn[start:stop] = self._normal(stop - start)
        return drawn

    def _normal(self, count: int) -> NDArray[np.float64]:
        words = self.bits(count * WORDS_PER_NORMAL)
        # Two 16-bit numbers are added in each half of a word at once: six of them never reach the other half.
        pairs = (words & _EVEN_PARTS) + ((words >> np.uint64(16)) & _EVEN_PARTS)
        halves = pairs[0::3] + pairs[1::3] + pairs[2::3]
        sums = ((halves & _LOW_HALF) + (halves >> np.uint64(32))).astype(np.int64)
        normal: NDArray[np.float64] = (sums - (_NORMAL_PARTS * 65535) // 2).astype(np.float64) * 2.0**-16
        return normal

    def integers(self, count: int, low: int, high: int) -> NDArray[np.int64]:
        """Uniform integers in [low, high]; the bias of the reduction is below 2**-32 for ranges below 2**32."""
        span = high - low + 1
        return (low + (self.bits(count) % np.uint64(span)).astype(np.int64)).astype(np.int64)

    def skewed(self, count: int) -> NDArray[np.float64]:
        """Positive and heavy-tailed: a mantissa in [1, 2) times 2**k with P(k) halving, for k in 0..10."""
        words = self.bits(count)
        mantissa: NDArray[np.float64] = 1.0 + (words >> np.uint64(12)).astype(np.float64) * 2.0**-52
        low = words & np.uint64(0x3FF)
        lowest = (low & (~low + np.uint64(1))).astype(np.float64)
        powers: NDArray[np.float64] = self.arrays.where(lowest == 0.0, 1024.0, lowest)
        return mantissa * powers

    def order(self, count: int) -> Array:
        """A random order of 0..count-1."""
        if self.arrays is np:
            return np.argsort(self.bits(count), kind="stable")
        order: Array = self.arrays.argsort(self.bits(count))  # CuPy's sort is stable, and takes no other kind
        return order
