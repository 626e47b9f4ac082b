// The back end that writes down what a candidate's host code asks for, and executes nothing.
#pragma once
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "api/streams.hpp"
#include "table.hpp"
#include "tensor_maps.hpp"
#include "writer.hpp"

namespace cudanalyst::record {

// Something of this process lies at an address of the table.
struct AddressesTaken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Recorder final : public Backend {
 public:
  // Takes the address ranges of the table from the process, so that nothing else comes to lie there. Throws AddressesTaken.
  explicit Recorder(Table table);

  const Table& table() const { return table_; }
  // What comes before the first call: constructors of the library, and `init`. Everything is in order there.
  void begin_init();
  void begin_call(const Stream& main, const Set& set);
  bool anything() const { return operations_ > 0 || writer_.refused(); }
  bool refused() const { return writer_.refused(); }
  std::string end(int status, const std::string& exception);

  int launch(const LaunchRequest& request) override;
  int copy(const CopyRequest& request) override;
  int fill(const FillRequest& request) override;
  int record(const Event& event, const Stream& stream, double& when) override;
  int wait(const Stream& stream, const Event& event) override;
  int synchronize() override { return success; }

  bool on_device(const void* pointer) override;
  std::optional<memory::Allocation> find(uint64_t address) override;
  bool holds(uint64_t address, size_t bytes) override;
  uint64_t allocate(size_t bytes, memory::Kind kind) override;
  Error release(uint64_t address) override;
  std::string describe(uint64_t address) override;
  size_t free_bytes() override { return table_.arena.bytes - arena_top_; }
  size_t total_bytes() override { return table_.memory_bytes ? table_.memory_bytes : table_.arena.bytes; }

  const ModuleTable* modules() override { return &table_.modules; }
  bool recording() const override { return true; }
  void refused(Refusal kind, std::string_view call, const std::string& text) override { writer_.refuse(kind, call, text); }
  bool gave_up() const override { return writer_.refused(); }
  void asked(const std::string& question, int64_t answer) override { writer_.note("query " + question + " = " + std::to_string(answer)); }
  void failed(std::string_view call, int error, const std::string& why) override;

  TensorMaps& tensor_maps() { return tensor_maps_; }

 private:
  struct Declared {
    int dynamic = -1, carveout = -1;
    int nonportable = 0;
  };
  void declare(const Function& function);
  void declare_maps(std::span<const uint8_t> bytes);
  uint64_t number(const Stream& stream);
  bool operation(const std::string& text);
  void reserve();
  std::vector<Range> given() const;

  Table table_;
  Writer writer_;
  TensorMaps tensor_maps_;
  const Set* set_ = nullptr;
  const Stream* main_ = nullptr;  // nullptr: in init, where every stream is stream 0
  size_t operations_ = 0;
  uint64_t maps_ = 0;
  std::map<const Stream*, uint64_t> streams_;
  std::map<const Event*, uint64_t> events_;
  std::map<const Function*, Declared> declared_;
  std::vector<Range> reserved_;  // by address, whole pages
  std::map<uint64_t, memory::Allocation> arena_;
  size_t arena_top_ = 0;
  struct {
    int error = 0;
    std::string text;
  } failure_;
};

// The one of this process; nullptr where there is none.
Recorder* recorder();

}  // namespace cudanalyst::record
