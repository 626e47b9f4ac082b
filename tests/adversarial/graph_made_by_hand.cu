// kind: stale captured graphs
// tries: build a graph node by node in `init`, with the addresses of the first call
// replayed: unavailable/crashed | cudaGraph
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
static cudaGraph_t graph;
extern "C" int init(long) { return cudaGraphCreate(&graph, 0); }
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    cudaGraphNode_t node;
    void* arguments[] = {&a, &b, &out, &n};
    cudaKernelNodeParams parameters{};
    parameters.func = reinterpret_cast<void*>(&add);
    parameters.gridDim = dim3((n + 255) / 256);
    parameters.blockDim = dim3(256);
    parameters.kernelParams = arguments;
    if (cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters)) return 1;
    cudaGraphExec_t made;
    if (cudaGraphInstantiate(&made, graph, 0)) return 2;
    return cudaGraphLaunch(made, stream);
}
