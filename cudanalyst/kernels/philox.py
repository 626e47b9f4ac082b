"""The words of NumPy's Philox generator, made on a GPU: the same bits, so that inputs do not depend on where they are drawn.

Philox4x64-10 (Salmon, Moraes, Dror and Shaw, 2011, "Parallel random numbers: as easy as 1, 2, 3"). NumPy counts before
it draws: block j of four words is the cipher of counter j + 1 under the key.
"""

from typing import Any, Final

import numpy as np

from cudanalyst.kernels.arrays import ArrayModule
from cudanalyst.kernels.dtypes import Array

KERNEL: Final = "philox_words"
SOURCE: Final = r"""
extern "C" __global__ void philox_words(unsigned long long* words, unsigned long long key_low,
                                        unsigned long long key_high, unsigned long long first,
                                        unsigned long long count) {
    const unsigned long long first_block = first / 4;
    const unsigned long long blocks = (first + count + 3) / 4 - first_block;
    const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < blocks; i += step) {
        unsigned long long c0 = first_block + i + 1, c1 = 0, c2 = 0, c3 = 0;
        unsigned long long k0 = key_low, k1 = key_high;
        for (int round = 0; round < 10; ++round) {
            const unsigned long long high0 = __umul64hi(0xD2E7470EE14C6C93ull, c0);
            const unsigned long long high1 = __umul64hi(0xCA5A826395121157ull, c2);
            const unsigned long long low0 = 0xD2E7470EE14C6C93ull * c0;
            const unsigned long long low1 = 0xCA5A826395121157ull * c2;
            c0 = high1 ^ c1 ^ k0;
            c1 = low1;
            c2 = high0 ^ c3 ^ k1;
            c3 = low0;
            k0 += 0x9E3779B97F4A7C15ull;
            k1 += 0xBB67AE8584CAA73Bull;
        }
        const unsigned long long drawn[4] = {c0, c1, c2, c3};
        for (int part = 0; part < 4; ++part) {
            const unsigned long long word = (first_block + i) * 4 + part;
            if (word >= first && word - first < count) {
                words[word - first] = drawn[part];
            }
        }
    }
}
"""
"""CUDA C++: writes words `first` to `first + count` of the stream. `tests` run it on the engine too."""
THREADS: Final = 256
MAX_BLOCKS: Final = 65535

_compiled: dict[int, Any] = {}


def words_on_host(key: int, first: int, count: int) -> Array:
    """Words `first` to `first + count` of the stream of a 128-bit key, by NumPy's own generator."""
    raw = np.random.Philox(key=key, counter=first // 4)
    raw.random_raw(first % 4)
    return np.asarray(raw.random_raw(count), dtype=np.uint64)


def words_on_device(arrays: ArrayModule, key: int, first: int, count: int) -> Any:
    """The same words in an array of a CuPy-like module, made by a kernel."""
    words = arrays.empty(count, dtype=np.uint64)
    if count == 0:
        return words
    kernel = _compiled.get(id(arrays))
    if kernel is None:
        kernel = _compiled[id(arrays)] = arrays.RawKernel(SOURCE, KERNEL)
    blocks = min(max((count // 4 + THREADS) // THREADS, 1), MAX_BLOCKS)
    low, high = key & (2**64 - 1), key >> 64
    kernel((blocks,), (THREADS,), (words, np.uint64(low), np.uint64(high), np.uint64(first), np.uint64(count)))
    return words
