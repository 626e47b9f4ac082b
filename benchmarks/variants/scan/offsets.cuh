// Sums of blocks become what stands before each block, and are added: two kernels that variants of three launches have alike, under the names of
// each (VARIANT).
#pragma once

__global__ void VARIANT(top)(unsigned* sums, int count) {  // exclusive, by one block
  __shared__ unsigned part[1024];
  unsigned before = 0;
  for (int from = 0; from < count; from += 1024) {
    int i = from + threadIdx.x;
    unsigned own = i < count ? sums[i] : 0, v = own;
    part[threadIdx.x] = v;
    __syncthreads();
    for (int d = 1; d < 1024; d *= 2) {
      unsigned o = threadIdx.x >= d ? part[threadIdx.x - d] : 0;
      __syncthreads();
      part[threadIdx.x] = v += o;
      __syncthreads();
    }
    if (i < count) sums[i] = before + v - own;
    before += part[1023];
    __syncthreads();
  }
}

__global__ void VARIANT(add)(unsigned* y, const unsigned* sums, int per) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] += sums[i / per];
}
