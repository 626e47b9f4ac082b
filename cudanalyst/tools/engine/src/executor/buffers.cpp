// buffer, free, upload, download, fill, share.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "../report/seal.hpp"
#include "commands.hpp"

namespace cudanalyst::executor {
namespace {

constexpr uint64_t most_bytes = uint64_t{1} << 48;

class File {
 public:
  File(const std::string& path, int flags) : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    if (descriptor_ < 0) fail("cannot be opened");
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (mapped_) ::munmap(mapped_, bytes_);
    ::close(descriptor_);
  }
  size_t size() const {
    struct stat about{};
    if (::fstat(descriptor_, &about)) fail("cannot be examined");
    return static_cast<size_t>(about.st_size);
  }
  void empty() const {
    if (::ftruncate(descriptor_, 0)) fail("cannot be emptied");
  }
  // Writing to a mapping of a full disk would be a SIGBUS.
  void reserve(size_t offset, size_t bytes) const {
    if (const int error = ::posix_fallocate(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes)))
      errno = error, fail("cannot be made long enough");
  }
  void* map(size_t offset, size_t bytes, int protection) {
    bytes_ = bytes;
    void* at = ::mmap(nullptr, bytes, protection, MAP_SHARED | MAP_POPULATE, descriptor_, static_cast<off_t>(offset));
    if (at == MAP_FAILED) fail("cannot be mapped");
    return mapped_ = at;
  }

 private:
  [[noreturn]] void fail(const char* what) const { throw IoFailure(path_ + " " + what + ": " + std::generic_category().message(errno)); }
  std::string path_;
  int descriptor_;
  void* mapped_ = nullptr;
  size_t bytes_ = 0;
};

// Where in a file that holds several buffers.
size_t offset_of(Words& words) {
  const size_t offset = words.number("OFFSET", most_bytes);
  if (offset % 4096) throw BadCommand("OFFSET is a multiple of 4096");
  return offset;
}

// `x@2` is shown as `x`: several allocations of one parameter.
std::string shown_name(const std::string& name) { return name.substr(0, name.find('@')); }

void make(Session& session, Words& words, Object& answer) {
  const std::string name = words.text("NAME");
  const size_t bytes = words.number("BYTES", most_bytes), guard = words.number("GUARD", most_bytes);
  words.end();
  if (session.buffers.contains(name)) throw BadCommand("there is a buffer `" + name + "` already");
  Buffer made{Allocation(bytes + 2 * guard), guard};
  if (driver().name_allocation && made.memory.address()) driver().name_allocation(made.memory.address(), shown_name(name).c_str());
  answer.add("address", made.body());
  session.buffers.emplace(name, std::move(made));
}

void release(Session& session, Words& words, Object&) {
  const std::string name = words.text("NAME");
  words.end();
  const Buffer& buffer = session.buffer(name);
  static_cast<void>(buffer);
  session.buffers.erase(name);
}

void upload(Session& session, Words& words, Object&) {
  const Buffer& buffer = session.buffer(words.text("NAME"));
  const std::string path = words.text("PATH");
  const bool part = words.more();
  const size_t offset = part ? offset_of(words) : 0;
  words.end();
  File file(path, O_RDONLY);
  const size_t bytes = buffer.memory.bytes(), size = file.size();
  if (part ? size < offset || size - offset < bytes : size != bytes)
    throw BadCommand(path + " has " + std::to_string(size) + " bytes; the allocation, guards included, has " + std::to_string(bytes));
  if (!bytes) return;
  CU(cuMemcpyHtoD, buffer.memory.address(), file.map(offset, bytes, PROT_READ), bytes);
  // From pageable memory the call returns once the driver has its own copy, and a stream that does not wait for the legacy one would read what was
  // there before.
  CU(cuCtxSynchronize);
}

void download(Session& session, Words& words, Object& answer) {
  const Buffer& buffer = session.buffer(words.text("NAME"));
  const std::string path = words.text("PATH");
  bool digest = false, part = false;
  size_t offset = 0;
  if (words.more()) {
    Words before = words;
    digest = words.next("digest") == "digest";
    if (!digest) words = before, part = true, offset = offset_of(words);
  }
  words.end();
  File file(path, O_RDWR | O_CREAT);
  const size_t bytes = buffer.memory.bytes();
  if (!part) file.empty();
  const char* contents = "";
  if (bytes) {
    file.reserve(offset, bytes);
    void* at = file.map(offset, bytes, PROT_READ | PROT_WRITE);
    CU(cuMemcpyDtoH, at, buffer.memory.address(), bytes);
    contents = static_cast<const char*>(at);
  }
  answer.add("bytes", bytes);
  if (digest) answer.add("blake2b", seal::digest({contents, bytes}));
}

void fill(Session& session, Words& words, Object&) {
  const Buffer& buffer = session.buffer(words.text("NAME"));
  const auto value = static_cast<uint8_t>(words.number("BYTE", 255));
  words.end();
  if (!buffer.memory.bytes()) return;
  CU(cuMemsetD8, buffer.memory.address(), value, buffer.memory.bytes());
  CU(cuCtxSynchronize);
}

void share(Session& session, Words& words, Object& answer) {
  const Buffer& buffer = session.buffer(words.text("NAME"));
  words.end();
  CUipcMemHandle handle{};
  CU(cuIpcGetMemHandle, &handle, buffer.memory.address());
  // A small allocation is part of a larger one, and the handle opens that from its start.
  CUdeviceptr start = 0;
  size_t whole = 0;
  CU(cuMemGetAddressRange, &start, &whole, buffer.memory.address());
  answer.add("handle", hexadecimal(&handle, sizeof handle))
      .add("offset", buffer.body() - start)
      .add("bytes", buffer.memory.bytes() - 2 * buffer.guard);
}

}  // namespace

void add_buffer_commands(Commands& commands) {
  commands.add("buffer", make).add("free", release).add("upload", upload).add("download", download).add("fill", fill).add("share", share);
}

}  // namespace cudanalyst::executor
