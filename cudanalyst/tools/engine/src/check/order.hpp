// Which operations of streams come before which: in-order streams, events, waits of the host, the legacy stream. Everything runs when it is
// submitted, which is one of the orders that these allow; the checks ask here whether another would be allowed too.
#pragma once
#include <cstdint>
#include <string>

namespace cudanalyst {

struct Program;

namespace order {

bool watching();  // under racecheck or memcheck
// Operations of a stream. `what` names the operation in messages.
void begin(uint64_t stream, bool blocking, const std::string& what);
void runs(const Program& program);  // the operation in progress is a launch of it
void end();
void record(const void* event, uint64_t stream);
void wait(uint64_t stream, const void* event);
void host_waited_for_stream(uint64_t stream);
void host_waited_for_event(const void* event);
void host_waited_for_all();

// Of the operation in progress.
bool concurrent();               // some earlier operation does not come before it
uint32_t floor(uint32_t begin);  // accesses at an earlier clock come before it
bool before(uint32_t clock);
struct Operation {
  uint32_t begin;
  uint64_t stream;
  std::string what;
  const Program* program;
};
const Operation* operation_at(uint32_t clock);  // nullptr where it is too long ago
bool several_streams();

// Stream-ordered memory (memcheck).
void allocated(uint64_t address, uint64_t stream, bool blocking);
void freed(uint64_t address, uint64_t stream, bool blocking);
bool used_before_allocation(uint64_t address);  // by the operation in progress; remembers the use

}  // namespace order
}  // namespace cudanalyst
