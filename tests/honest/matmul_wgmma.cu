// problem: matmul
// technique: wgmma on single precision split into three bf16 parts, one warpgroup a tile of 64 x 8
// on: gpu
// arch: sm_90a
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
// Operands lie in shared memory as 8 x 8 core matrices of 128 bytes, without a swizzle.
__device__ uint64_t descriptor(const void* p, uint32_t leading, uint32_t stride) {
    const uint64_t address = __cvta_generic_to_shared(p);
    return (address & 0x3ffff) >> 4 | static_cast<uint64_t>(leading >> 4) << 16 | static_cast<uint64_t>(stride >> 4) << 32;
}
__device__ void multiply(float (&d)[4], uint64_t a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
}
__device__ void split(float value, __nv_bfloat16* parts, int step) {
    for (int p = 0; p < 3; ++p) {
        parts[p * step] = __float2bfloat16(value);
        value -= __bfloat162float(parts[p * step]);
    }
}
__global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ alignas(128) __nv_bfloat16 ta[3][64 * 16], tb[3][8 * 16];
    const int row0 = blockIdx.y * 64, col0 = blockIdx.x * 8;
    float d[4] = {};
    for (int k0 = 0; k0 < k; k0 += 16) {
        for (int i = threadIdx.x; i < 64 * 16; i += 128) {
            const int r = i / 16, kk = i % 16, at = (kk / 8 * 8 + r / 8) * 64 + r % 8 * 8 + kk % 8;
            split(row0 + r < m && k0 + kk < k ? a[(row0 + r) * k + k0 + kk] : 0, &ta[0][at], 64 * 16);
        }
        for (int i = threadIdx.x; i < 8 * 16; i += 128) {
            const int col = i / 16, kk = i % 16, at = kk / 8 * 64 + col * 8 + kk % 8;
            split(col0 + col < n && k0 + kk < k ? b[(k0 + kk) * n + col0 + col] : 0, &tb[0][at], 8 * 16);
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int p = 0; p < 3; ++p)
            for (int q = 0; p + q < 3; ++q) multiply(d, descriptor(ta[p], 1024, 128), descriptor(tb[q], 128, 128));
        asm volatile("wgmma.commit_group.sync.aligned;\n wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }
    const int lane = threadIdx.x % 32, row = row0 + threadIdx.x / 32 * 16 + lane / 4, col = col0 + lane % 4 * 2;
    for (int i = 0; i < 4; ++i)
        if (row + i / 2 * 8 < m && col + i % 2 < n) c[(row + i / 2 * 8) * n + col + i % 2] = d[i];
}
extern "C" int solve(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream) {
    matmul<<<dim3((n + 7) / 8, (m + 63) / 64), 128, 0, stream>>>(a, b, c, m, n, k);
    return 0;
}
