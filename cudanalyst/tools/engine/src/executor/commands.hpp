// The table of commands. A part of the executor adds its own: `void add_timing_commands(Commands&)` in timing.cpp, for one.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "json.hpp"
#include "session.hpp"
#include "words.hpp"

namespace cudanalyst::executor {

// Takes its arguments from the words (what is left over is an error), and adds members to the answer. Throws what failure.hpp has.
using Handler = std::function<void(Session&, Words&, Object& answer)>;

class Commands {
 public:
  // `needs_context`: answered only while one is open and not broken.
  Commands& add(std::string_view name, Handler handler, bool needs_context = true);
  // One line in, one line out (without the newline). Throws nothing.
  std::string run(Session& session, std::string_view line) const;

 private:
  struct Entry {
    Handler handler;
    bool needs_context;
  };
  void run(Session& session, std::string_view line, Object& answer) const;
  std::map<std::string, Entry, std::less<>> entries_;
};

void add_device_commands(Commands& commands);
void add_module_commands(Commands& commands);
void add_buffer_commands(Commands& commands);
void add_replay_commands(Commands& commands);
// On a GPU only; null where it is not linked in.
__attribute__((weak)) void add_timing_commands(Commands& commands);

// The whole of a file. Throws an IoFailure that names it.
std::string read_file(const std::string& path);

}  // namespace cudanalyst::executor
