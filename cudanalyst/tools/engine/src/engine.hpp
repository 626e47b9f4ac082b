// The engine as its API layer sees it: device memory, modules, launches. Implemented by module/, isa/, exec/, check/ and prof/.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cudanalyst {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

enum class Mode { run, check, profile };

enum Check : unsigned { memcheck = 1, racecheck = 2, initcheck = 4, synccheck = 8, all_checks = 15 };

// Read once from the environment (REPORT.md).
struct Config {
  Mode mode = Mode::run;
  unsigned checks = 0;  // set of Check; 0 unless mode is check
  std::string report_path;
  bool leaks = false;  // memcheck: what is never freed is a finding
  uint64_t seed = 0;
  unsigned threads = 1;
  uint64_t max_warp_instructions = 0;  // 0: none
  uint64_t sample_budget = 0;          // warp instructions of a launch, above which a profile samples its blocks; 0: never
  size_t memory_bytes = size_t{4} << 30;
  std::string device_path;
};

const Config& config();

// What the program has set of the device (cudaDeviceSetLimit) and launches heed.
struct DeviceLimits {
  size_t stack_bytes = 1024, heap_bytes = size_t{8} << 20;
  bool heap_touched = false, printed = false;  // a kernel has used them: their limits stand
};
DeviceLimits& device_limits();

// One line of the report; `json` is a complete object without newline. Thread-safe, flushed. Does nothing without a report.
void report_line(std::string_view json);
// Appends `text` as a JSON string literal with quotes; control characters and invalid UTF-8 are escaped.
void append_json_string(std::string& out, std::string_view text);

// CUDA runtime error codes that the engine itself produces (values of cudaError_t).
enum Error : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  invalid_configuration = 9,
  invalid_symbol = 13,
  invalid_device_function = 98,
  illegal_address = 700,
  launch_out_of_resources = 701,
  launch_timeout = 702,
  assert_triggered = 710,
  hardware_stack_error = 714,
  illegal_instruction = 715,
  misaligned_address = 716,
  invalid_address_space = 717,
  invalid_pc = 718,
  launch_failure = 719,
  not_supported = 801,
  invalid_cluster_size = 912,
};

// Device memory. Device addresses lie in a range that the host cannot touch (PROT_NONE), so a host dereference of a device pointer
// faults as on a GPU; the same bytes are mapped at another address for the engine. Managed memory is readable at its own address.
namespace memory {
// `heap`: by malloc() in device code, out of the host API's reach.
enum class Kind { device, managed, global_variable, constant_variable, heap };
// 0 when out of memory. Allocations are 256-byte aligned, separated by a gap that belongs to none, never reused while check mode is on.
uint64_t allocate(size_t bytes, Kind kind, std::string_view name = {}, size_t align = 256);
// For malloc() in device code: 0 beyond the limit of the heap.
uint64_t allocate_on_heap(size_t bytes);
// success; invalid_value for a pointer that is not the start of a live allocation (memcheck reports double and wrong frees).
Error release(uint64_t address);
struct Allocation {
  uint64_t address;
  size_t bytes;
  Kind kind;
  bool live;
  std::string name;
};
// The allocation, live or released, that holds the address, or nullopt.
std::optional<Allocation> find(uint64_t address);
void rename(uint64_t address, std::string_view name);  // writes the report's `allocation` line
bool is_device(const void* pointer);                   // lies in the device range at all
// Where the host side of the engine reads and writes the byte; nullptr unless [address, address + bytes) lies in one live allocation.
uint8_t* host_view(uint64_t address, size_t bytes);
// Copies and fills by the API: mark bytes initialised, propagate initialised state from device to device.
Error write(uint64_t to, const void* from, size_t bytes);
Error read(void* to, uint64_t from, size_t bytes);
Error copy(uint64_t to, uint64_t from, size_t bytes);
Error fill(uint64_t to, uint8_t value, size_t bytes);
// Makes the pages of host memory device memory too: the device address of the first page, or 0. `take_back` undoes it.
uint64_t adopt(uint64_t host, size_t bytes);
void take_back(uint64_t device, uint64_t host, size_t bytes);
uint64_t offset_in_page(uint64_t host);
size_t free_bytes();
// The first eight bytes (or what a row has of them) in the range that nothing has written, under initcheck; else UINT64_MAX.
uint64_t first_unwritten(uint64_t address, size_t bytes);
// Every allocation of the program that is live, in order of address.
std::vector<Allocation> live_allocations();
// "name[bytes B] + offset", or where it lies relative to the nearest allocation.
std::string describe(uint64_t address);
}  // namespace memory

struct Parameter {
  size_t offset, bytes;
};

struct KernelInfo {
  std::string symbol, name;  // mangled, demangled
  std::vector<Parameter> parameters;
  size_t static_shared_bytes = 0, local_bytes = 0;
  uint32_t max_threads = 0;           // of .maxntid, else 0
  uint32_t required_threads[3] = {};  // of .reqntid, else 0
  bool cooperative = false;           // uses grid-wide sync
  uint32_t required_cluster[3] = {};  // of .reqnctapercluster, else 0
};

class Kernel;
class Module;

struct Symbol {
  uint64_t address;
  size_t bytes;
};

// Decodes PTX text. Kernels whose code holds something unsupported load, and fail when launched (and are reported then);
// text that is not PTX gives nullptr and a message.
std::shared_ptr<Module> load_ptx(std::string_view text, std::string& message);
// Several separately compiled texts as one, for load_ptx.
std::string link_ptx(const std::vector<std::string_view>& texts);
size_t constant_bytes(const Module& module);  // of its constant variables
// What functions a kernel calls that no text defines; empty where all are there.
std::vector<std::string> undefined_functions(const Module& module);
Kernel* find_kernel(Module& module, std::string_view symbol);
std::optional<Symbol> find_variable(Module& module, std::string_view symbol);
std::vector<std::string> kernel_symbols(const Module& module);
const KernelInfo& info(const Kernel& kernel);

struct Launch {
  Dim3 grid, block;
  size_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  Dim3 cluster{};
};

// Runs a launch to its end. `parameters` is the packed parameter block (KernelInfo::parameters). The result is what a GPU would
// leave as the error of the launch; details are in the report.
Error launch(Kernel& kernel, const Launch& launch, const uint8_t* parameters, size_t parameter_bytes);

// A finding of memcheck about a call of the host API, which has no place in device code; `where` describes the device address that it
// is about, or is empty.
void report_host_finding(const std::string& kind, const std::string& where, const std::string& message, const char* check = "memcheck");

// Writes profile records and finding counts; called once at an orderly end (and from atexit).
void finish_report();

}  // namespace cudanalyst
