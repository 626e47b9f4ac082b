// What a candidate may ask for inside `solve` (the runner says when that is): everything ordered on the stream it was given.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace cudanalyst {

struct Stream;
struct Event;

namespace contract {

// For each stream, how many of its operations come before.
using Clock = std::map<uint64_t, uint64_t>;

void watch_candidate();  // this process is a runner's
void begin(Stream& main);
// Empty, or the first violation with its fix.
std::string end();
bool inside();

// Each gives 0 where the operation is allowed, and notes a violation and gives the error to return where it is not. All of these break the
// contract but one: `read_back` in `init`, which cannot be recorded (TRACE.md has the table).
int host_wait(const char* function);
int allocation(const char* function);
int host_work(const char* function);  // callbacks, device resets
int work(const char* function, Stream& stream);
int read_back(const char* function);
int upload(const char* function, size_t bytes);  // from host memory
int host_memory(const char* function);           // that kernels reach
int lasting(const char* function);               // settings that outlive the call
int record(const char* function, Event& event, Stream& stream);
int wait(const char* function, Stream& stream, const Event& event);

}  // namespace contract
}  // namespace cudanalyst
