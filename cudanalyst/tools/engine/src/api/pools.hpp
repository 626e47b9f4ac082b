// Pools of stream-ordered allocation: what is freed goes straight back, so they only count, and keep what is set of them.
#pragma once
#include "api.hpp"

namespace cudanalyst::pools {

struct Pool;
Pool* find(cudaMemPool_t handle);
cudaMemPool_t standard();
cudaMemPool_t current();
int use(cudaMemPool_t handle);  // for cudaMallocAsync
int create(cudaMemPool_t* handle, const cudaMemPoolProps* properties);
int destroy(cudaMemPool_t handle);
int allocate(void** pointer, size_t bytes, cudaMemPool_t handle, cudaStream_t stream);
void released(uint64_t address);
bool holds(uint64_t address);
int trim(cudaMemPool_t handle);
int set_attribute(cudaMemPool_t handle, int attribute, const void* value);
int get_attribute(cudaMemPool_t handle, int attribute, void* value);
int set_access(cudaMemPool_t handle, const cudaMemAccessDesc* access, size_t count);
int get_access(cudaMemAccessFlags* flags, cudaMemPool_t handle, const cudaMemLocation* place);

}  // namespace cudanalyst::pools
