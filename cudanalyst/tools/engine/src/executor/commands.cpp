#include "commands.hpp"

#include <exception>
#include <fstream>
#include <iterator>
#include <new>

namespace cudanalyst::executor {
namespace {

Object failed(const char* kind, std::string_view command, std::string_view message) {
  Object answer;
  answer.add("ok", false).add("kind", kind).add("command", command).add("message", message);
  return answer;
}

// A fault of a kernel stays: the context answers it to whatever is asked next, and so does the executor.
void note_broken(Session& session, const CudaFailure& failure) {
  if (!session.context || session.broken) return;
  if (driver().cuCtxSynchronize() != CUDA_SUCCESS) session.broken = failure;
}

std::string cuda_failed(std::string_view command, const CudaFailure& failure) {
  Object answer = failed("cuda", command, failure.what());
  return answer.add("code", failure.code).add("name", failure.name).text();
}

}  // namespace

Commands& Commands::add(std::string_view name, Handler handler, bool needs_context) {
  entries_.insert_or_assign(std::string(name), Entry{std::move(handler), needs_context});
  return *this;
}

void Commands::run(Session& session, std::string_view line, Object& answer) const {
  Words words(line);
  const auto name = words.next("the command");
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) throw BadCommand("there is no such command");
  if (entry->second.needs_context) {
    session.need_context();
    if (session.broken) throw *session.broken;
  }
  entry->second.handler(session, words, answer);
}

std::string Commands::run(Session& session, std::string_view line) const {
  const std::string_view command = line.substr(0, std::min<size_t>(line.find(' '), 60));
  try {
    Object answer;
    answer.add("ok", true);
    run(session, line, answer);
    return answer.text();
  } catch (const CudaFailure& failure) {
    note_broken(session, failure);
    return cuda_failed(command, failure);
  } catch (const BadCommand& failure) { return failed("bad_command", command, failure.what()).text(); } catch (const std::bad_alloc&) {
    return failed("io", command, "the executor has no host memory left").text();
  } catch (const std::exception& failure) { return failed("io", command, failure.what()).text(); }
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoFailure(path + " cannot be read: " + std::generic_category().message(errno));
  std::string contents(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) throw IoFailure(path + " cannot be read to its end");
  return contents;
}

}  // namespace cudanalyst::executor
