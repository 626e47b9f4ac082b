// kind: lower precision than asked
// tries: products in single precision, the sum kept in half
// problem: matmul
// replayed: wrong | c[
#include <cuda_fp16.h>
#include <cuda_runtime.h>
__global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m * n) return;
    __half sum = __float2half(0);
    for (int j = 0; j < k; ++j) sum = __float2half(__half2float(sum) + a[i / n * k + j] * b[j * n + i % n]);
    c[i] = __half2float(sum);
}
extern "C" int solve(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream) {
    matmul<<<(m * n + 127) / 128, 128, 0, stream>>>(a, b, c, m, n, k);
    return 0;
}
