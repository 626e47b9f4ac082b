// What the runner asks of a recorder.
#include <unistd.h>

#include <stdexcept>

#include "api/api.hpp"
#include "api/contract.hpp"
#include "api/modules.hpp"
#include "api/runner_interface.hpp"
#include "recorder.hpp"

namespace cudanalyst::record {
namespace {

Recorder* the_recorder = nullptr;

const Table* open(const char* path, std::string& problem, bool& taken) {
  Guard guard(api_mutex());
  try {
    the_recorder = new Recorder(read_table(path));
  } catch (const AddressesTaken& error) {
    taken = true;
    problem = error.what();
    return nullptr;
  } catch (const std::exception& error) {
    problem = error.what();
    return nullptr;
  }
  use(*the_recorder);
  the_recorder->begin_init();
  return &the_recorder->table();
}

void begin_call(cudaStream_t handle, const Set& set) {
  Guard guard(api_mutex());
  Stream* main = streams::find(handle);
  the_recorder->begin_call(*main, set);
  contract::begin(*main);
}

std::string end_call(int status, const std::string& exception) {
  Guard guard(api_mutex());
  contract::end();  // what it finds is told to the recorder
  return the_recorder->end(status, exception);
}

bool anything() { return the_recorder->anything(); }
bool refused() { return the_recorder->refused(); }

pid_t fork_call() {
  lifecycle::expect_fork();
  return fork();
}

std::vector<std::string> variables() {
  Guard guard(api_mutex());
  return modules::variable_names();
}

constexpr RecordInterface interface{open, begin_call, end_call, anything, refused, fork_call, variables};

}  // namespace

Recorder* recorder() { return the_recorder; }
const RecordInterface* record_interface() { return &interface; }

}  // namespace cudanalyst::record
