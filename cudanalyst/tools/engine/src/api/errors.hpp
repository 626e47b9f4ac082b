// Error state as a GPU keeps it: a last error per thread, and faults that break the context for good.
#pragma once
#include <cstdint>
#include <string>

namespace cudanalyst::errors {

void set_last(int error);
int peek_last();
int take_last();

// A device fault. On a GPU the launch has returned by then, so the first call that waits or talks to the device sees it.
void poison(int error);
int poisoned();  // what every call returns from then on, else 0
int fault();
void lose_device();        // by a reset after a fault: from then on the device is not available
bool is_fault(int error);  // breaks the context, and arrives after the launch has returned

// What the process leaves behind, for the report's last line.
int left_behind();
// A failure that no cudaGetLastError may hide from the report: something was not executed.
void note_not_executed(int error);

// Says why the call in progress is about to fail, for memcheck; returns the error.
int because(int error, const char* kind, const std::string& why, uint64_t address = 0);
// A call of the API failed: a finding of memcheck, unless the failure is an answer (not ready) or none of the program's (a fault, a limit).
void report_failure(int error, const char* function);

const char* name(int error);
const char* description(int error);

}  // namespace cudanalyst::errors
