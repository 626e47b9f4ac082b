#include "channel.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "failure.hpp"
#include "words.hpp"

namespace cudanalyst::executor {
namespace {

constexpr size_t most_line_bytes = 64 << 10;

[[noreturn]] void fail(const std::string& what) { throw IoFailure(what + ": " + std::generic_category().message(errno)); }

int connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw IoFailure("the socket's path is longer than " + std::to_string(sizeof address.sun_path - 1) + " bytes: " + path);
  std::memcpy(address.sun_path, path.data(), path.size());
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) fail("no socket");
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address)) fail("cannot connect to " + path);
  return descriptor;
}

}  // namespace

Channel::Channel(const std::string& where) {
  if (where.starts_with("fd:")) {
    descriptor_ = static_cast<int>(Words(std::string_view(where).substr(3)).number("the descriptor", 1 << 20));
    if (fcntl(descriptor_, F_SETFD, FD_CLOEXEC)) fail("descriptor " + std::to_string(descriptor_));
  } else {
    descriptor_ = connect_to(where);
  }
}

Channel::~Channel() { close(descriptor_); }

bool Channel::read_line(std::string& line) {
  size_t seen = 0;
  for (;;) {
    const size_t end = pending_.find('\n', seen);
    if (end != std::string::npos) {
      line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return true;
    }
    seen = pending_.size();
    if (seen > most_line_bytes) throw IoFailure("a command is longer than 64 KiB");
    char buffer[4096];
    const ssize_t got = read(descriptor_, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno != ECONNRESET) fail("reading a command");
    if (got <= 0) return false;
    pending_.append(buffer, static_cast<size_t>(got));
  }
}

void Channel::write_line(std::string_view text) {
  std::string line(text);
  line += '\n';
  for (size_t sent = 0; sent < line.size();) {
    const ssize_t now = write(descriptor_, line.data() + sent, line.size() - sent);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) fail("answering");
    sent += static_cast<size_t>(now);
  }
}

}  // namespace cudanalyst::executor
