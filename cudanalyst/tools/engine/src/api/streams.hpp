// Streams and events. Work runs when it is submitted, so they only order; what they keep is for queries and for the contract.
#pragma once
#include <functional>

#include "api.hpp"
#include "contract.hpp"

namespace cudanalyst {

struct Stream {
  uint64_t id = 0;
  unsigned flags = 0;
  int priority = 0;
  cudaAccessPolicyWindow window = {};
  int sync_policy = -1, domain = cudaLaunchMemSyncDomainDefault;
  unsigned char domains[2] = {0, 1};
  // Of the contract: what is known to come before the stream's next operation in this call of solve.
  uint64_t call = 0;
  bool forked = false;
  contract::Clock clock = {};

  bool is_default() const { return id < 2; }
};

struct Event {
  unsigned flags = 0;
  bool recorded = false;
  double when = 0;
  uint64_t call = 0;
  bool forked = false;
  contract::Clock clock = {};
};

namespace streams {
Stream* find(cudaStream_t handle);  // the default streams too; nullptr for what is no stream
Event* find(cudaEvent_t handle);
int create(Stream*& stream, unsigned flags, int priority);
int destroy(cudaStream_t handle);
int create(Event*& event, unsigned flags);
int destroy(cudaEvent_t handle);
int record(const char* function, cudaEvent_t event, cudaStream_t stream);
int wait(const char* function, cudaStream_t stream, cudaEvent_t event);
int elapsed(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
int least_priority();
int clamp_priority(int wanted);
// Runs it as the device would: what it calls of CUDA is refused.
void run_host_function(const std::function<void()>& body);
bool in_host_function();
}  // namespace streams

}  // namespace cudanalyst
