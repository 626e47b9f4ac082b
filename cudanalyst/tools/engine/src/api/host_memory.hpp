// Allocations as the API tells them apart, and where a pointer points.
#pragma once
#include "api.hpp"
#include "backend.hpp"

namespace cudanalyst::host_memory {

enum class Place { pageable, pinned, device, managed };
Place place_of(const void* pointer);
inline bool on_device(const void* pointer) { return backend().on_device(pointer); }  // reachable by kernels

int allocate_device(void** pointer, size_t bytes);
int allocate_managed(void** pointer, size_t bytes, unsigned flags);
int allocate_pinned(void** pointer, size_t bytes, unsigned flags);
int allocate_pitch(void** pointer, size_t& pitch, size_t width, size_t rows);
int free_device(void* pointer);
int free_async(void* pointer, cudaStream_t stream);
int free_pinned(void* pointer);
int register_range(void* pointer, size_t bytes, unsigned flags);
int unregister_range(void* pointer);
// Attachment of managed memory to a stream: a hint, as there is one memory.
int attach(cudaStream_t stream, const void* pointer, size_t bytes, unsigned flags);
int prefetch(const void* pointer, size_t bytes, int type, int id, unsigned flags, cudaStream_t stream);
int advise(const void* pointer, size_t bytes, int advice, int type, int id);
int range_attribute(void* data, size_t bytes, int id, const void* pointer, size_t range);
int device_pointer(void** device_pointer, void* pointer, unsigned flags);
bool pinned_flags(const void* pointer, unsigned& flags);

}  // namespace cudanalyst::host_memory
