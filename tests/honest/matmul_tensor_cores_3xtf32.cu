// problem: matmul
// technique: tensor cores within single precision: each operand as a sum of two TF32 numbers, three products (wmma)
#include <cuda_runtime.h>
#include <mma.h>
using namespace nvcuda;
using A = wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major>;
using B = wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major>;
using C = wmma::fragment<wmma::accumulator, 16, 16, 8, float>;
template <typename F>
__device__ void split(const F& full, F& high, F& low) {
    for (int i = 0; i < full.num_elements; ++i) high.x[i] = wmma::__float_to_tf32(full.x[i]), low.x[i] = wmma::__float_to_tf32(full.x[i] - high.x[i]);
}
__global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ alignas(32) float ta[16 * 8], tb[8 * 16], tc[256];
    const int row0 = blockIdx.y * 16, col0 = blockIdx.x * 16;
    C sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k0 = 0; k0 < k; k0 += 8) {
        for (int i = threadIdx.x; i < 128; i += 32) {
            ta[i] = row0 + i / 8 < m && k0 + i % 8 < k ? a[(row0 + i / 8) * k + k0 + i % 8] : 0;
            tb[i] = col0 + i % 16 < n && k0 + i / 16 < k ? b[(k0 + i / 16) * n + col0 + i % 16] : 0;
        }
        __syncwarp();
        A fa, ha, la;
        B fb, hb, lb;
        wmma::load_matrix_sync(fa, ta, 8);
        wmma::load_matrix_sync(fb, tb, 16);
        split(fa, ha, la), split(fb, hb, lb);
        // Tensor cores cut off where they add, always downwards: over all of k that would add up, so each step is added to the sum by itself.
        C step;
        wmma::fill_fragment(step, 0.0f);
        wmma::mma_sync(step, la, hb, step);
        wmma::mma_sync(step, ha, lb, step);
        wmma::mma_sync(step, ha, hb, step);
        for (int i = 0; i < sum.num_elements; ++i) sum.x[i] += step.x[i];
        __syncwarp();
    }
    wmma::store_matrix_sync(tc, sum, 16, wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32)
        if (row0 + i / 16 < m && col0 + i % 16 < n) c[(row0 + i / 16) * n + col0 + i % 16] = tc[i];
}
extern "C" int solve(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream) {
    matmul<<<dim3((n + 15) / 16, (m + 15) / 16), 32, 0, stream>>>(a, b, c, m, n, k);
    return 0;
}
