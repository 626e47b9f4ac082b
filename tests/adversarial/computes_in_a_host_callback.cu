// kind: work left pending
// tries: do the work in a host function that the stream calls
// replayed: contract_violation | cudaLaunchHostFunc
#include <cuda_runtime.h>
struct Work { const float *a, *b; float* out; int n; };
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    static Work work;
    work = {a, b, out, n};
    return cudaLaunchHostFunc(stream, [](void* p) {
        const Work& w = *static_cast<Work*>(p);
        for (int i = 0; i < w.n; ++i) w.out[i] = w.a[i] + w.b[i];
    }, &work);
}
