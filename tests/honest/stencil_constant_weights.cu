// problem: stencil2d
// technique: weights in __constant__ memory through cudaGetSymbolAddress and a copy to its address
#include <cuda_runtime.h>
__constant__ float weights[5];
__global__ void stencil(const float* x, float* out, int rows, int cols) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y, i = r * cols + c;
    if (c >= cols) return;
    const bool inner = r > 0 && r < rows - 1 && c > 0 && c < cols - 1;
    out[i] = inner ? x[i] + (weights[0] * x[i - cols] + weights[1] * x[i + cols] + weights[2] * x[i - 1] + weights[3] * x[i + 1] + weights[4] * x[i]) : x[i];
}
extern "C" int solve(const float* x, float* out, int rows, int cols, float alpha, cudaStream_t stream) {
    const float here[5] = {alpha, alpha, alpha, alpha, -4 * alpha};
    void* address = nullptr;
    if (cudaGetSymbolAddress(&address, weights)) return 1;
    if (cudaMemcpyAsync(address, here, sizeof(here), cudaMemcpyHostToDevice, stream)) return 2;
    stencil<<<dim3((cols + 63) / 64, rows), 64, 0, stream>>>(x, out, rows, cols);
    return 0;
}
