// problem: vector_add
// technique: inline PTX with cache hints: ld.global.nc, st.global.cs, a predicate
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    asm volatile("{ .reg .pred p; .reg .f32 x, y;\n setp.lt.s32 p, %3, %4;\n @p ld.global.nc.f32 x, [%0];\n @p ld.global.nc.f32 y, [%1];\n"
                 " add.rn.f32 x, x, y;\n @p st.global.cs.f32 [%2], x; }" ::"l"(a + i), "l"(b + i), "l"(out + i), "r"(i), "r"(n) : "memory");
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return 0;
}
