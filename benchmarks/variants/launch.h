// What every variant exports: its work on the device arrays `a` (in the order of the problem's) for the numbers `n` of one size.
#pragma once
#include <cuda_runtime.h>

extern "C" int launch(void* const* a, const long* n, cudaStream_t stream);

inline unsigned blocks_for(long items, long per_block) { return static_cast<unsigned>((items + per_block - 1) / per_block); }
