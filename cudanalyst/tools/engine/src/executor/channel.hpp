// Lines to and from the parent.
#pragma once
#include <string>
#include <string_view>

namespace cudanalyst::executor {

class Channel {
 public:
  // A path to connect to, or `fd:N`, a stream that was inherited. Throws an IoFailure.
  explicit Channel(const std::string& where);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  // False when the parent has closed its end; a line is at most 64 KiB long.
  bool read_line(std::string& line);
  void write_line(std::string_view line);

 private:
  int descriptor_ = -1;
  std::string pending_;
};

}  // namespace cudanalyst::executor
