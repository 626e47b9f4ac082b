// Code that the CPU engine cannot run, and tensor maps: one library of several cases.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#define SOLVE(name) static int name(const float* x, float* y, int n, void* ws, size_t bytes, cudaStream_t stream)
#define INIT(name) static int init_##name(int64_t n)

__constant__ CUtensorMap kept;

__global__ void tma(const __grid_constant__ CUtensorMap map, float* y) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
  y[0] = 1;
}
__global__ void from_constant(float* y) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&kept) : "memory");
  y[0] = 1;
}
__global__ void mma(float* y) {
  asm volatile("wgmma.fence.sync.aligned; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
  y[0] = 1;
}

static void* entry(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
  return result == cudaDriverEntryPointSuccess ? found : nullptr;
}
static int encode(CUtensorMap& map, const float* x) {
  auto function = (decltype(&cuTensorMapEncodeTiled))entry("cuTensorMapEncodeTiled");
  cuuint64_t sizes[2] = {16, 32}, strides[1] = {64};
  cuuint32_t box[2] = {16, 8}, steps[2] = {1, 1};
  return function(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void*)x, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

SOLVE(encoded) {
  CUtensorMap map;
  if (int error = encode(map, x)) return error;
  tma<<<1, 32, 0, stream>>>(map, y);
  return cudaGetLastError();
}

static CUtensorMap map;
static float* table;
INIT(encoded_in_init) {
  cudaMalloc(&table, 4096);
  return encode(map, table);
}
SOLVE(encoded_in_init) {
  tma<<<1, 32, 0, stream>>>(map, y);
  tma<<<1, 32, 0, stream>>>(map, y);
  return 0;
}
SOLVE(uploaded) {
  if (int error = encode(map, x)) return error;
  cudaMemcpyToSymbolAsync(kept, &map, sizeof map, 0, cudaMemcpyHostToDevice, stream);
  from_constant<<<1, 32, 0, stream>>>(y);
  return 0;
}
SOLVE(replaced) {
  if (int error = encode(map, x)) return error;
  auto replace = (decltype(&cuTensorMapReplaceAddress))entry("cuTensorMapReplaceAddress");
  if (int error = replace(&map, y)) return error;
  tma<<<1, 32, 0, stream>>>(map, y);
  return 0;
}
SOLVE(outside) { return encode(map, (float*)0x1000000); }
SOLVE(matrix) {
  mma<<<1, 128, 0, stream>>>(y);
  return 0;
}
