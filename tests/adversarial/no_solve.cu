// kind: contract
// tries: exports no `solve`
// replayed: compile_failed | does not export `solve`
#include <cuda_runtime.h>

__global__ void add(float* out) { out[0] = 1.0f; }
