"""Random numbers that are equal on every machine and with every NumPy.

Only the raw output of the Philox counter generator is used, whose stream NumPy guarantees, and only operations that
IEEE 754 defines to the last bit: no logarithm, no library function whose last digit differs between machines.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from cudanalyst.kernels.dtypes import Array

_NORMAL_PARTS = 12


class Draws:
    """A stream of draws, named by a key."""

    def __init__(self, *key: str | int | bytes) -> None:
        """Starts the stream of a key; parts are length-prefixed, so that no two keys coincide."""
        digest = hashlib.sha256()
        for part in key:
            data = part if isinstance(part, bytes) else str(part).encode()
            digest.update(len(data).to_bytes(8, "big") + data)
        self._raw = np.random.Philox(key=int.from_bytes(digest.digest()[:16], "big"))

    def bits(self, count: int) -> NDArray[np.uint64]:
        """`count` words of 64 random bits."""
        return np.asarray(self._raw.random_raw(count), dtype=np.uint64)

    def unit(self, count: int) -> NDArray[np.float64]:
        """Uniform in [0, 1), multiples of 2**-53."""
        return (self.bits(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def normal(self, count: int) -> NDArray[np.float64]:
        """Mean 0, variance 1, within +-6: the sum of twelve uniform 16-bit numbers (Irwin-Hall)."""
        parts = self.bits(count * _NORMAL_PARTS // 4).view(np.uint16).reshape(count, _NORMAL_PARTS)
        centred = parts.sum(axis=1, dtype=np.int64) - (_NORMAL_PARTS * 65535) // 2
        normal: NDArray[np.float64] = centred.astype(np.float64) * 2.0**-16
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
        return mantissa * np.where(lowest == 0.0, 1024.0, lowest)

    def order(self, count: int) -> Array:
        """A random order of 0..count-1."""
        return np.argsort(self.bits(count), kind="stable")
