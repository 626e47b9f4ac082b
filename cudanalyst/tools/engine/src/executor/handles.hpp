// Owners of what the driver hands out. Releasing never throws: after a fault every release fails, and the context takes all with it.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>

#include "driver.hpp"

namespace cudanalyst::executor {

struct Release {
  void operator()(CUmodule handle) const { driver().cuModuleUnload(handle); }
  void operator()(CUstream handle) const { driver().cuStreamDestroy(handle); }
  void operator()(CUevent handle) const { driver().cuEventDestroy(handle); }
  void operator()(CUgraph handle) const { driver().cuGraphDestroy(handle); }
  void operator()(CUgraphExec handle) const { driver().cuGraphExecDestroy(handle); }
  void operator()(CUcontext handle) const { driver().cuCtxDestroy(handle); }
};

// Owned<CUstream>: the handles are pointers to incomplete types.
template <typename Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Release>;

struct ReleasePinned {
  void operator()(void* memory) const { driver().cuMemFreeHost(memory); }
};
using Pinned = std::unique_ptr<void, ReleasePinned>;

inline Pinned allocate_pinned(size_t bytes, unsigned flags = 0) {
  void* memory = nullptr;
  CU(cuMemHostAlloc, &memory, bytes, flags);
  return Pinned(memory);
}

// Device memory of its own allocation; none for 0 bytes.
class Allocation {
 public:
  Allocation() = default;
  explicit Allocation(size_t bytes) : bytes_(bytes) {
    if (bytes) CU(cuMemAlloc, &address_, bytes);
  }
  Allocation(Allocation&& other) noexcept : address_(std::exchange(other.address_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}
  Allocation& operator=(Allocation&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Allocation() {
    if (address_) driver().cuMemFree(address_);
  }
  CUdeviceptr address() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  CUdeviceptr address_ = 0;
  size_t bytes_ = 0;
};

inline Owned<CUstream> make_stream(int priority = 0) {
  CUstream stream = nullptr;
  CU(cuStreamCreateWithPriority, &stream, CU_STREAM_NON_BLOCKING, priority);
  return Owned<CUstream>(stream);
}

inline Owned<CUevent> make_event(unsigned flags = CU_EVENT_DISABLE_TIMING) {
  CUevent event = nullptr;
  CU(cuEventCreate, &event, flags);
  return Owned<CUevent>(event);
}

}  // namespace cudanalyst::executor
