// expect: ok
#include <cstdio>
#include <numeric>
#include <vector>
#define NUM_BANKS 32
#define CONFLICT_FREE_OFFSET(n) ((n) >> 5)

__global__ void prescan(int *g_odata, const int *g_idata, int *sums, int n)
{
    extern __shared__ int temp[];
    int thid = threadIdx.x;
    int offset = 1;
    int base = blockIdx.x * n;
    int ai = thid, bi = thid + n / 2;
    int oa = CONFLICT_FREE_OFFSET(ai), ob = CONFLICT_FREE_OFFSET(bi);
    temp[ai + oa] = g_idata[base + ai];
    temp[bi + ob] = g_idata[base + bi];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (thid < d) {
            int l = offset * (2 * thid + 1) - 1, r = offset * (2 * thid + 2) - 1;
            l += CONFLICT_FREE_OFFSET(l);
            r += CONFLICT_FREE_OFFSET(r);
            temp[r] += temp[l];
        }
        offset *= 2;
    }
    if (thid == 0) {
        int last = n - 1 + CONFLICT_FREE_OFFSET(n - 1);
        if (sums) sums[blockIdx.x] = temp[last];
        temp[last] = 0;
    }
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (thid < d) {
            int l = offset * (2 * thid + 1) - 1, r = offset * (2 * thid + 2) - 1;
            l += CONFLICT_FREE_OFFSET(l);
            r += CONFLICT_FREE_OFFSET(r);
            int t = temp[l];
            temp[l] = temp[r];
            temp[r] += t;
        }
    }
    __syncthreads();
    g_odata[base + ai] = temp[ai + oa];
    g_odata[base + bi] = temp[bi + ob];
}

__global__ void uniformAdd(int *data, const int *sums, int n)
{
    int v = sums[blockIdx.x];
    for (int i = threadIdx.x; i < n; i += blockDim.x) data[blockIdx.x * n + i] += v;
}

int main()
{
    const int per = 256, blocks = 8, n = per * blocks;
    std::vector<int> h(n), want(n), got(n);
    for (int i = 0; i < n; i++) h[i] = (i * 7919) % 13 - 3;
    std::exclusive_scan(h.begin(), h.end(), want.begin(), 0);
    int *in, *out, *sums, *scanned;
    cudaMalloc((void **)&in, n * sizeof(int));
    cudaMalloc((void **)&out, n * sizeof(int));
    cudaMalloc((void **)&sums, blocks * sizeof(int));
    cudaMalloc((void **)&scanned, blocks * sizeof(int));
    cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    size_t bytes = (per + per / NUM_BANKS) * sizeof(int);
    prescan<<<blocks, per / 2, bytes>>>(out, in, sums, per);
    prescan<<<1, blocks / 2, (blocks + 1) * sizeof(int)>>>(scanned, sums, nullptr, blocks);
    uniformAdd<<<blocks, 64>>>(out, scanned, per);
    cudaMemcpy(got.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
    printf(got == want ? "Test PASSED\n" : "Test FAILED\n");
    return got != want;
}
