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
int free_pinned(void* pointer);
int register_range(void* pointer, size_t bytes);
int unregister_range(void* pointer);
bool pinned_flags(const void* pointer, unsigned& flags);

}  // namespace cudanalyst::host_memory
