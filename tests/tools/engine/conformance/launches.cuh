// Launches that are right, wrong and odd: the code, at the call that gives it.
#pragma once
#include <cooperative_groups.h>

#include "functions.cuh"

__global__ void whole_grid(int* p) {
  auto grid = cooperative_groups::this_grid();
  p[grid.thread_rank()] = 1;
  grid.sync();
}
__global__ void ranks(int* p) {
  auto cluster = cooperative_groups::this_cluster();
  if (threadIdx.x == 0) p[blockIdx.x] = cluster.block_rank() * 100 + cluster.num_blocks();
}
__global__ void shape_of_launch(unsigned* p) {
  p[0] = gridDim.x, p[1] = gridDim.y, p[2] = gridDim.z, p[3] = blockDim.x, p[4] = blockDim.y, p[5] = blockDim.z;
}

CASE(launch_shapes) {
  int* p = device_array<int>(1 << 16);
  LAUNCH(plain<<<1, 1>>>(p));
  LAUNCH(plain<<<0, 32>>>(p));
  LAUNCH(plain<<<1, 0>>>(p));
  LAUNCH(plain<<<dim3(1, 0, 1), 32>>>(p));
  LAUNCH(plain<<<dim3(1, 1, 0), 32>>>(p));
  LAUNCH(plain<<<1, dim3(32, 0, 1)>>>(p));
  LAUNCH(plain<<<1, 1024>>>(p));
  LAUNCH(plain<<<1, 1025>>>(p));
  LAUNCH(plain<<<1, dim3(32, 32, 1)>>>(p));
  LAUNCH(plain<<<1, dim3(32, 32, 2)>>>(p));
  LAUNCH(plain<<<1, dim3(1, 1, 64)>>>(p));
  LAUNCH(plain<<<1, dim3(1, 1, 65)>>>(p));
  LAUNCH(plain<<<1, dim3(1, 1024, 1)>>>(p));
  LAUNCH(plain<<<1, dim3(1, 1025, 1)>>>(p));
  LAUNCH(plain<<<dim3(1, 65535), 1>>>(nullptr));
  LAUNCH(plain<<<dim3(1, 65536), 1>>>(nullptr));
  LAUNCH(plain<<<dim3(1, 1, 65536), 1>>>(nullptr));
  LAUNCH(plain<<<dim3(0x80000000u), 1>>>(nullptr));
  LAUNCH(bounded<<<1, 64>>>(p));
  LAUNCH(bounded<<<1, 65>>>(p));
  LAUNCH(plain<<<1, 32, 49152>>>(p));
  LAUNCH(plain<<<1, 32, 49153>>>(p));
  LAUNCH(static_shared<<<1, 32, 9152>>>(p));
  LAUNCH(static_shared<<<1, 32, 9153>>>(p));
  LAUNCH(dynamic_shared<<<1, 32, 65536>>>(p));
  CALL(cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  LAUNCH(dynamic_shared<<<1, 32, 65536>>>(p));
  LAUNCH(dynamic_shared<<<1, 32, 65537>>>(p));
  CALL(cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
  LAUNCH(dynamic_shared<<<1, 32, 2048>>>(p));
  LAUNCH(dynamic_shared<<<1, 32, 49152>>>(p));
  LAUNCH(dynamic_shared<<<1, 32, static_cast<size_t>(1) << 33>>>(p));
  CALL(cudaDeviceSynchronize());
}

CASE(launches_by_call) {
  int* p = device_array<int>(1 << 16);
  void* arguments[] = {&p};
  CALL(cudaLaunchKernel(reinterpret_cast<void*>(plain), dim3(1), dim3(32), arguments, 0, nullptr));
  CALL(cudaLaunchKernel(reinterpret_cast<void*>(plain), dim3(1), dim3(2000), arguments, 0, nullptr));
  CALL(cudaLaunchKernel(static_cast<void*>(nullptr), dim3(1), dim3(32), arguments, 0, nullptr));
  CALL(cudaLaunchKernel(reinterpret_cast<void*>(show_function), dim3(1), dim3(32), arguments, 0, nullptr));
  cudaKernel_t kernel;
  cudaGetKernel(&kernel, reinterpret_cast<const void*>(plain));
  CALL(cudaLaunchKernel(reinterpret_cast<void*>(kernel), dim3(1), dim3(32), arguments, 0, nullptr));
  cudaFunction_t function;
  cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(plain));
  CALL(cudaLaunchKernel(reinterpret_cast<void*>(function), dim3(1), dim3(32), arguments, 0, nullptr));
  cudaLaunchConfig_t launch = {};
  CALL(cudaLaunchKernelExC(nullptr, reinterpret_cast<void*>(plain), arguments));
  CALL(cudaLaunchKernelExC(&launch, reinterpret_cast<void*>(plain), arguments));
  launch.gridDim = dim3(2);
  launch.blockDim = dim3(32);
  CALL(cudaLaunchKernelExC(&launch, reinterpret_cast<void*>(plain), arguments));
  CALL(cudaLaunchKernelEx(&launch, plain, p));
  CALL(cudaDeviceSynchronize());
}
CASE(launch_without_arguments) {
  CALL(cudaLaunchKernel(reinterpret_cast<void*>(plain), dim3(1), dim3(32), nullptr, 0, nullptr));
}

CASE(launch_attributes) {
  int* p = device_array<int>(1 << 16);
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t launch = {};
  launch.gridDim = dim3(8);
  launch.blockDim = dim3(32);
  launch.attrs = attributes;
  launch.numAttrs = 1;
  for (int id = 0; id < 24; id++)
    for (int value : {0, 1, 7, -3, 1000}) {
      std::memset(attributes, 0, sizeof attributes);
      attributes[0].id = static_cast<cudaLaunchAttributeID>(id);
      *reinterpret_cast<int*>(&attributes[0].val) = value;
      std::printf("attribute %d of %d: ", id, value);
      std::fflush(stdout);
      const int code = cudaLaunchKernelEx(&launch, plain, p);
      std::printf("%d, then %d\n", code, cudaDeviceSynchronize());
      cudaGetLastError();
    }
  std::memset(attributes, 0, sizeof attributes);
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributePriority;
  attributes[1].val.priority = -2;
  launch.numAttrs = 2;
  CALL(cudaLaunchKernelEx(&launch, plain, p));
  attributes[0].id = attributes[1].id = cudaLaunchAttributePriority;
  CALL(cudaLaunchKernelEx(&launch, plain, p));
  CALL(cudaDeviceSynchronize());
}
CASE(launch_attributes_missing) {
  cudaLaunchConfig_t launch = {};
  launch.gridDim = dim3(8);
  launch.blockDim = dim3(32);
  launch.numAttrs = 1;
  CALL(cudaLaunchKernelEx(&launch, plain, static_cast<int*>(nullptr)));
}

CASE(launch_of_the_whole_grid) {
  int* p = device_array<int>(1 << 20);
  void* arguments[] = {&p};
  CALL(cudaLaunchCooperativeKernel(whole_grid, dim3(4), dim3(64), arguments, 0, nullptr));
  CALL(cudaDeviceSynchronize());
  CALL(cudaLaunchCooperativeKernel(whole_grid, dim3(132 * 2), dim3(1024), arguments, 0, nullptr));
  CALL(cudaLaunchCooperativeKernel(whole_grid, dim3(132 * 2 + 1), dim3(1024), arguments, 0, nullptr));
  CALL(cudaLaunchCooperativeKernel(whole_grid, dim3(132 * 32), dim3(32), arguments, 0, nullptr));
  CALL(cudaLaunchCooperativeKernel(whole_grid, dim3(132 * 32 + 1), dim3(32), arguments, 0, nullptr));
  CALL(cudaLaunchCooperativeKernel(whole_grid, dim3(0), dim3(32), arguments, 0, nullptr));
  CALL(cudaLaunchCooperativeKernel(whole_grid, dim3(1), dim3(1025), arguments, 0, nullptr));
  CALL(cudaLaunchCooperativeKernel(whole_grid, dim3(1), dim3(32), arguments, 50000, nullptr));
  CALL(cudaLaunchCooperativeKernel(plain, dim3(1), dim3(32), arguments, 0, nullptr));
  CALL(cudaLaunchCooperativeKernel(static_cast<const void*>(nullptr), dim3(1), dim3(32), arguments, 0, nullptr));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t launch = {};
  launch.gridDim = dim3(4);
  launch.blockDim = dim3(64);
  launch.attrs = &attribute;
  launch.numAttrs = 1;
  CALL(cudaLaunchKernelEx(&launch, whole_grid, p));
  launch.gridDim = dim3(100000);
  CALL(cudaLaunchKernelEx(&launch, whole_grid, p));
  CALL(cudaDeviceSynchronize());
}
// Without a cooperative launch there is no grid to wait for.
CASE(grid_wait_in_an_ordinary_launch) {
  int* p = device_array<int>(1 << 16);
  LAUNCH(whole_grid<<<4, 64>>>(p));
  CALL(cudaDeviceSynchronize());
}

CASE(launch_of_clusters) {
  int *p = device_array<int>(1 << 16), h[64] = {};
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  cudaLaunchConfig_t launch = {};
  launch.blockDim = dim3(32);
  launch.attrs = &attribute;
  launch.numAttrs = 1;
  for (unsigned width : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 16u, 17u, 32u})
    for (unsigned blocks : {16u, 9u, 48u}) {
      attribute.val.clusterDim = {width, 1, 1};
      launch.gridDim = dim3(blocks);
      std::printf("%u blocks in clusters of %u: ", blocks, width);
      std::fflush(stdout);
      const int code = cudaLaunchKernelEx(&launch, ranks, p);
      std::printf("%d, then %d\n", code, cudaDeviceSynchronize());
      cudaGetLastError();
    }
  attribute.val.clusterDim = {4, 1, 1};
  launch.gridDim = dim3(16);
  CALL(cudaLaunchKernelEx(&launch, ranks, p));
  CALL(cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost));
  SHOW(h[5]);
  attribute.val.clusterDim = {2, 2, 2};
  launch.gridDim = dim3(4, 4, 4);
  CALL(cudaLaunchKernelEx(&launch, ranks, p));
  attribute.val.clusterDim = {2, 2, 4};
  CALL(cudaLaunchKernelEx(&launch, ranks, p));
  attribute.val.clusterDim = {1, 3, 1};
  CALL(cudaLaunchKernelEx(&launch, ranks, p));
  attribute.val.clusterDim = {2, 0, 1};
  CALL(cudaLaunchKernelEx(&launch, ranks, p));
  attribute.val.clusterDim = {16, 1, 1};
  launch.gridDim = dim3(16);
  CALL(cudaLaunchKernelEx(&launch, ranks, p));
  CALL(cudaFuncSetAttribute(ranks, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  CALL(cudaLaunchKernelEx(&launch, ranks, p));
  LAUNCH(in_clusters<<<4, 32>>>(p));
  LAUNCH(in_clusters<<<5, 32>>>(p));
  attribute.val.clusterDim = {2, 1, 1};
  CALL(cudaLaunchKernelEx(&launch, in_clusters, p));
  attribute.val.clusterDim = {4, 1, 1};
  CALL(cudaLaunchKernelEx(&launch, in_clusters, p));
  LAUNCH(ranks<<<4, 32>>>(p));
  CALL(cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost));
  SHOW(h[3]);
  CALL(cudaDeviceSynchronize());
}

CASE(launch_of_a_function_with_cluster_attributes) {
  int* p = device_array<int>(1 << 16);
  CALL(cudaFuncSetAttribute(ranks, cudaFuncAttributeClusterDimMustBeSet, 1));
  LAUNCH(ranks<<<4, 32>>>(p));
  CALL(cudaFuncSetAttribute(ranks, cudaFuncAttributeClusterDimMustBeSet, 0));
  CALL(cudaFuncSetAttribute(ranks, cudaFuncAttributeRequiredClusterWidth, 2));
  CALL(cudaFuncSetAttribute(ranks, cudaFuncAttributeRequiredClusterHeight, 1));
  CALL(cudaFuncSetAttribute(ranks, cudaFuncAttributeRequiredClusterDepth, 1));
  LAUNCH(ranks<<<4, 32>>>(p));
  LAUNCH(ranks<<<5, 32>>>(p));
  int h[8] = {};
  CALL(cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost));
  SHOW(h[3]);
}

CASE(shape_in_the_kernel) {
  unsigned *p = nullptr;
  cudaMallocHost(&p, 64);
  LAUNCH(shape_of_launch<<<dim3(3, 2, 4), dim3(5, 6, 7)>>>(p));
  CALL(cudaDeviceSynchronize());
  for (int k = 0; k < 6; k++) SHOW(p[k]);
}
