// problem: matmul
// technique: square tiles in static shared memory
#include <cuda_runtime.h>
constexpr int T = 16;
__global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float ta[T][T], tb[T][T + 1];
    const int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int k0 = 0; k0 < k; k0 += T) {
        ta[threadIdx.y][threadIdx.x] = row < m && k0 + threadIdx.x < k ? a[row * k + k0 + threadIdx.x] : 0;
        tb[threadIdx.y][threadIdx.x] = col < n && k0 + threadIdx.y < k ? b[(k0 + threadIdx.y) * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < T; ++i) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}
extern "C" int solve(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream) {
    matmul<<<dim3((n + T - 1) / T, (m + T - 1) / T), dim3(T, T), 0, stream>>>(a, b, c, m, n, k);
    return 0;
}
