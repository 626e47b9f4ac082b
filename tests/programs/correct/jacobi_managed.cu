// expect: ok
// Jacobi iterations on a square plate with managed memory; the largest change is kept with a CAS loop on floats.
#include <cstdio>
#include <cmath>
#include <utility>
#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort=true)
{
   if (code != cudaSuccess)
   {
      fprintf(stderr,"GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
      if (abort) exit(code);
   }
}

__device__ float atomicMaxFloat(float *address, float val)
{
    int *as_int = (int *)address;
    int old = *as_int, assumed;
    do {
        assumed = old;
        old = atomicCAS(as_int, assumed, __float_as_int(fmaxf(val, __int_as_float(assumed))));
    } while (assumed != old);
    return __int_as_float(old);
}

__global__ void step(const float *in, float *out, float *change, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && y > 0 && x < w - 1 && y < h - 1) {
        float v = 0.25f * (in[y * w + x - 1] + in[y * w + x + 1] + in[(y - 1) * w + x] + in[(y + 1) * w + x]);
        atomicMaxFloat(change, fabsf(v - in[y * w + x]));
        out[y * w + x] = v;
    }
}

int main()
{
    const int W = 37, H = 29;
    float *a, *b, *change;
    gpuErrchk(cudaMallocManaged(&a, W * H * sizeof(float)));
    gpuErrchk(cudaMallocManaged(&b, W * H * sizeof(float)));
    gpuErrchk(cudaMallocManaged(&change, sizeof(float)));
    for (int i = 0; i < W * H; i++) a[i] = b[i] = i < W ? 100.f : 0.f;
    float* ref = new float[W * H], *tmp = new float[W * H];
    for (int i = 0; i < W * H; i++) ref[i] = tmp[i] = a[i];
    dim3 block(16, 8), grid((W + 15) / 16, (H + 7) / 8);
    bool ok = true;
    for (int it = 0; it < 20; it++) {
        *change = 0.f;
        step<<<grid, block>>>(a, b, change, W, H);
        gpuErrchk(cudaPeekAtLastError());
        gpuErrchk(cudaDeviceSynchronize());
        float most = 0;
        for (int y = 1; y < H - 1; y++)
            for (int x = 1; x < W - 1; x++) {
                tmp[y * W + x] = 0.25f * (ref[y * W + x - 1] + ref[y * W + x + 1] + ref[(y - 1) * W + x] + ref[(y + 1) * W + x]);
                most = fmaxf(most, fabsf(tmp[y * W + x] - ref[y * W + x]));
            }
        ok = ok && fabsf(most - *change) < 1e-4f;
        std::swap(a, b);
        std::swap(ref, tmp);
    }
    for (int i = 0; i < W * H; i++) ok = ok && fabsf(a[i] - ref[i]) < 1e-3f;
    printf("change %g %s\n", *change, ok ? "ok" : "WRONG");
    cudaFree(a); cudaFree(b); cudaFree(change);
    delete[] ref; delete[] tmp;
    return !ok;
}
