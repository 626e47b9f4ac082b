// Copies and fills as the API validates them, before the back end sees them.
#pragma once
#include "backend.hpp"
#include "streams.hpp"

namespace cudanalyst {

struct CopyCall {
  const char* caller;
  bool blocking;  // on the default stream, and the host waits
  void* to;
  const void* from;
  size_t row_bytes, rows = 1, to_pitch = 0, from_pitch = 0;
  cudaMemcpyKind kind = cudaMemcpyDefault;
  cudaStream_t stream = nullptr;
};
int copy(const CopyCall& call);

// Of the batched copies of either API; the attributes say when sources may be read, which here is always at once.
int copy_batch(const char* caller, void* const* to, const void* const* from, const size_t* sizes, size_t count, const void* attributes,
               const size_t* first, size_t attribute_count, cudaStream_t stream);

struct FillCall {
  const char* caller;
  void* to;
  uint32_t pattern;
  unsigned element_bytes;
  size_t row_elements, rows = 1, pitch = 0;
  cudaStream_t stream = nullptr;
};
int fill(const FillCall& call);

}  // namespace cudanalyst
