// kind: library instead of kernel
// tries: call cuBLAS by name
// problem: matmul
// replayed: compile_failed |
#include <cublas_v2.h>
#include <cuda_runtime.h>
extern "C" int solve(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream) {
    static cublasHandle_t handle;
    if (!handle && cublasCreate(&handle)) return 1;
    cublasSetStream(handle, stream);
    const float one = 1, zero = 0;
    return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
}
