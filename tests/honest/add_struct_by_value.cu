// problem: vector_add
// technique: a kernel parameter that is a struct with padding, and an array inside
#include <cuda_runtime.h>
struct Work { char tag; const float* terms[2]; short skip; float* out; int n; };
__global__ void add(const Work work) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < work.n) work.out[i] = work.terms[0][i] + work.terms[1][i];
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    Work work;
    work.tag = 'w', work.terms[0] = a, work.terms[1] = b, work.skip = 0, work.out = out, work.n = n;
    add<<<(n + 191) / 192, 192, 0, stream>>>(work);
    return 0;
}
