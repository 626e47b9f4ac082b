// Attributes of kernels, and occupancy.
#pragma once
#include "answers.cuh"

__global__ void __launch_bounds__(64) bounded(int* p) { if (p) p[threadIdx.x] = 1; }
__global__ void __launch_bounds__(256, 4) bounded_twice(int* p) { if (p) p[threadIdx.x] = 1; }
__global__ void static_shared(int* p) {
  __shared__ int s[10000];
  s[threadIdx.x] = 1;
  __syncthreads();
  p[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern __shared__ int dynamic_words[];
__global__ void dynamic_shared(int* p) {
  dynamic_words[threadIdx.x] = 1;
  if (p) p[0] = dynamic_words[0];
}
__global__ void several(int* p, double d, char c, float4 v) { if (p) *p = static_cast<int>(d) + c + static_cast<int>(v.x); }
__global__ void __cluster_dims__(2, 1, 1) in_clusters(int* p) { if (p) p[blockIdx.x] = 1; }
static __constant__ int table[100];
__global__ void with_constants(int* p, int i) { *p = table[i]; }
__global__ void with_locals(int* p, int i) {
  int words[64];
  for (int k = 0; k < 64; k++) words[k] = p[k] * i;
  p[i] = words[i & 63];
}

static void show_function(const char* name, const void* function) {
  cudaFuncAttributes a;
  std::memset(&a, 0, sizeof a);
  const int code = cudaFuncGetAttributes(&a, function);
  cudaGetLastError();
  std::printf("%s: %d, shared %zu, constant %zu, threads %d, registers %d, ptx %d, binary %d, cache %d, dynamic %d, carveout %d\n", name, code,
              a.sharedSizeBytes, a.constSizeBytes, a.maxThreadsPerBlock, a.numRegs, a.ptxVersion, a.binaryVersion, a.cacheModeCA,
              a.maxDynamicSharedSizeBytes, a.preferredShmemCarveout);
  std::printf("  cluster: must be set %d, %d x %d x %d, policy %d, nonportable %d\n", a.clusterDimMustBeSet, a.requiredClusterWidth,
              a.requiredClusterHeight, a.requiredClusterDepth, a.clusterSchedulingPolicyPreference, a.nonPortableClusterSizeAllowed);
}
#define FUNCTION(name) show_function(#name, reinterpret_cast<const void*>(name))

CASE(function_attributes) {
  FUNCTION(plain);
  FUNCTION(bounded);
  FUNCTION(bounded_twice);
  FUNCTION(static_shared);
  FUNCTION(dynamic_shared);
  FUNCTION(several);
  FUNCTION(in_clusters);
  FUNCTION(with_constants);
  show_function("no kernel", reinterpret_cast<const void*>(show_function));
  show_function("null", nullptr);
  cudaFuncAttributes a;
  CALL(cudaFuncGetAttributes(&a, with_locals));
  SHOW(a.localSizeBytes >= 256);
  CALL(cudaFuncGetAttributes(nullptr, plain));
  const char* name = nullptr;
  CALL(cudaFuncGetName(&name, reinterpret_cast<const void*>(plain)));
  TEXT(name);
  CALL(cudaFuncGetName(nullptr, reinterpret_cast<const void*>(plain)));
  CALL(cudaFuncGetName(&name, nullptr));
  size_t offset = 99, bytes = 99;
  for (size_t k = 0; k < 5; k++) {
    CALL(cudaFuncGetParamInfo(reinterpret_cast<const void*>(several), k, &offset, &bytes));
    SHOW(offset);
    SHOW(bytes);
  }
  CALL(cudaFuncGetParamInfo(reinterpret_cast<const void*>(several), 1, nullptr, &bytes));
  CALL(cudaFuncGetParamInfo(reinterpret_cast<const void*>(several), 1, &offset, nullptr));
  cudaFunction_t function = nullptr;
  CALL(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(plain)));
  SHOW(function != nullptr);
  CALL(cudaGetFuncBySymbol(nullptr, reinterpret_cast<const void*>(plain)));
  CALL(cudaGetFuncBySymbol(&function, &name));
  cudaKernel_t kernel = nullptr;
  CALL(cudaGetKernel(&kernel, reinterpret_cast<const void*>(plain)));
  SHOW(kernel != nullptr);
}

CASE(set_function_attributes) {
  for (int attribute = 0; attribute < 18; attribute++)
    for (int value : {-2, -1, 0, 1, 2, 16, 50, 100, 101, 40000, 227 * 1024, 227 * 1024 + 1}) {
      ask("cudaFuncSetAttribute");
      const int code = cudaFuncSetAttribute(dynamic_shared, static_cast<cudaFuncAttribute>(attribute), value);
      std::printf("%d to %d: %d\n", attribute, value, code);
      cudaGetLastError();
    }
  FUNCTION(dynamic_shared);
  CALL(cudaFuncSetAttribute(static_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024 - 40000));
  CALL(cudaFuncSetAttribute(static_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024 - 39999));
  FUNCTION(static_shared);
  CALL(cudaFuncSetAttribute(in_clusters, cudaFuncAttributeRequiredClusterWidth, 4));
  CALL(cudaFuncSetAttribute(in_clusters, cudaFuncAttributeClusterDimMustBeSet, 0));
  FUNCTION(in_clusters);
  CALL(cudaFuncSetAttribute(static_cast<const void*>(nullptr), cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
  CALL(cudaFuncSetAttribute(reinterpret_cast<const void*>(show_function), cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
}

CASE(occupancy) {
  int blocks = 99;
  for (int threads : {-1, 0, 1, 32, 33, 64, 65, 100, 256, 512, 768, 1000, 1024, 1025, 2048})
    for (size_t shared : {size_t{0}, size_t{1}, size_t{1000}, size_t{16384}, size_t{49152}, size_t{49153}, size_t{1} << 30}) {
      blocks = 99;
      const int code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, dynamic_shared, threads, shared);
      std::printf("%d threads, %zu bytes: %d, %d\n", threads, shared, code, blocks);
      cudaGetLastError();
    }
  CALL(cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024));
  for (size_t shared : {50000, 75000, 100000, 116000, 117000, 200000, 232448}) {
    const int code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, dynamic_shared, 128, shared);
    std::printf("%zu bytes: %d, %d\n", shared, code, blocks);
  }
  for (unsigned flags : {0u, 1u, 2u, 3u}) CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, plain, 128, 0, flags));
  CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, plain, 128, 0));
  CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, static_cast<const void*>(nullptr), 128, 0));
  CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 65, 0));
  SHOW(blocks);
  for (int carveout : {0, 25, 50, 100}) {
    CALL(cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributePreferredSharedMemoryCarveout, carveout));
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, dynamic_shared, 128, 16384));
    SHOW(blocks);
  }
}

struct HundredEach {
  __host__ __device__ size_t operator()(int threads) const { return static_cast<size_t>(threads) * 100; }
};

CASE(occupancy_of_blocks) {
  int grid = 99, block = 99;
  CALL(cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain));
  SHOW(grid);
  SHOW(block);
  for (int limit : {0, 1, 100, 128, 1024, 5000}) {
    CALL(cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain, 0, limit));
    SHOW(grid);
    SHOW(block);
  }
  CALL(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded));
  SHOW(grid);
  SHOW(block);
  CALL(cudaOccupancyMaxPotentialBlockSize(&grid, &block, static_shared));
  SHOW(grid);
  SHOW(block);
  CALL(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, dynamic_shared, HundredEach{}));
  SHOW(grid);
  SHOW(block);
  CALL(cudaOccupancyMaxPotentialBlockSize(&grid, &block, dynamic_shared, 60000));
  SHOW(grid);
  SHOW(block);
  size_t bytes = 99;
  for (int blocks : {-1, 0, 1, 2, 8, 16, 33})
    for (int threads : {-1, 0, 32, 256, 1024, 2000}) {
      bytes = 99;
      const int code = cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, plain, blocks, threads);
      std::printf("%d blocks of %d threads: %d, %zu\n", blocks, threads, code, bytes);
      cudaGetLastError();
    }
}

CASE(occupancy_of_clusters) {
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cudaLaunchConfig_t launch = {};
  launch.gridDim = dim3(256);
  launch.blockDim = dim3(128);
  launch.attrs = &cluster;
  launch.numAttrs = 1;
  int count = 99;
  for (unsigned width : {1u, 2u, 3u, 4u, 8u, 16u, 32u}) {
    cluster.val.clusterDim = {width, 1, 1};
    launch.gridDim = dim3(width * 16);
    count = 99;
    const int code = cudaOccupancyMaxActiveClusters(&count, dynamic_shared, &launch);
    std::printf("cluster of %u: %d, more than none %d\n", width, code, count > 0);
    cudaGetLastError();
  }
  CALL(cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  cluster.val.clusterDim = {16, 1, 1};
  launch.gridDim = dim3(256);
  CALL(cudaOccupancyMaxActiveClusters(&count, dynamic_shared, &launch));
  SHOW(count > 0);
  CALL(cudaOccupancyMaxActiveClusters(nullptr, dynamic_shared, &launch));
  launch.numAttrs = 0;
  CALL(cudaOccupancyMaxActiveClusters(&count, dynamic_shared, &launch));
  launch.gridDim = dim3(64);
  CALL(cudaOccupancyMaxPotentialClusterSize(&count, plain, &launch));
  SHOW(count);
  CALL(cudaOccupancyMaxPotentialClusterSize(&count, dynamic_shared, &launch));
  SHOW(count);
  launch.blockDim = dim3(1024);
  launch.dynamicSmemBytes = 40000;
  CALL(cudaOccupancyMaxPotentialClusterSize(&count, dynamic_shared, &launch));
  SHOW(count);
}
