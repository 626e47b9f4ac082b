#include "fatbin.hpp"

#include <elf.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace cudanalyst::fatbin {
namespace {

constexpr uint32_t wrapper_magic = 0x466243b1, container_magic = 0xba55ed50;
enum Kind : uint16_t { kind_ptx = 1, kind_elf = 2 };

struct Wrapper {
  uint32_t magic, version;
  const void* data;
  const void* const* objects;  // version 2: containers of relocatable objects, ended by null
};

struct Header {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;
};

struct Entry {
  uint16_t kind, version;
  uint32_t header_bytes;
  uint64_t payload_bytes;
  uint32_t compressed_bytes, unknown;
  uint16_t minor, major;
  uint32_t architecture;
  uint32_t name_offset, name_bytes;
  uint64_t flags, reserved, uncompressed_bytes;
};
static_assert(sizeof(Entry) == 64);

template <typename T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Byte by byte: what is no container may be a shorter text.
template <typename T>
bool begins_with(const void* data, T magic) {
  char bytes[sizeof magic];
  std::memcpy(bytes, &magic, sizeof magic);
  for (size_t k = 0; k < sizeof magic; ++k)
    if (static_cast<const char*>(data)[k] != bytes[k]) return false;
  return true;
}

// The architecture that `.target` names, and whether it is one of those that run on exactly one chip (sm_90a).
struct Target {
  int architecture = 0;
  bool specific = false;
};

Target target_of(std::string_view ptx) {
  size_t at = ptx.find(".target");
  if (at == std::string_view::npos) return {};
  at = ptx.find("sm_", at);
  if (at == std::string_view::npos) return {};
  std::string digits;
  for (at += 3; at < ptx.size() && ptx[at] >= '0' && ptx[at] <= '9'; at++) digits += ptx[at];
  return {std::atoi(digits.c_str()), at < ptx.size() && (ptx[at] == 'a')};
}

}  // namespace

bool is_fatbin(const void* data) { return begins_with(data, container_magic); }
bool is_elf(const void* data) { return std::strncmp(static_cast<const char*>(data), ELFMAG, SELFMAG) == 0; }

std::vector<const void*> unwrap(const void* at) {
  if (!begins_with(at, wrapper_magic)) return {};
  const Wrapper wrapper = load<Wrapper>(static_cast<const char*>(at));
  std::vector<const void*> found{wrapper.data};
  if (wrapper.version == 2 && wrapper.objects)
    for (auto object = wrapper.objects; *object; object++) found.push_back(*object);
  return found;
}

Contents read(const void* data, int device_architecture) {
  Contents contents;
  const char* base = static_cast<const char*>(data);
  const Header header = load<Header>(base);
  if (header.magic != container_magic) {
    contents.problem = "the embedded device code has an unknown container format; compile with nvcc 13.0";
    return contents;
  }
  bool best_is_specific = false, compressed = false, machine_code = false;
  int newer = 0;
  const char* end = base + header.header_bytes + header.bytes;
  for (const char* at = base + header.header_bytes; at + sizeof(Entry) <= end;) {
    const Entry entry = load<Entry>(at);
    const uint64_t left = static_cast<uint64_t>(end - at);
    if (entry.header_bytes < sizeof(Entry) || entry.header_bytes > left || entry.payload_bytes > left - entry.header_bytes) break;
    std::string_view payload(at + entry.header_bytes, entry.payload_bytes);
    at += entry.header_bytes + entry.payload_bytes;
    if (entry.kind == kind_elf) {
      machine_code = true;
      if (!entry.uncompressed_bytes && static_cast<int>(entry.architecture) == device_architecture) read_cubin(payload, contents.resources);
      continue;
    }
    if (entry.kind != kind_ptx) continue;
    if (entry.uncompressed_bytes) {
      compressed = true;
      continue;
    }
    payload = payload.substr(0, payload.find('\0'));
    const Target target = target_of(payload);
    if (target.architecture > device_architecture || (target.specific && target.architecture != device_architecture)) {
      newer = target.architecture;
      continue;
    }
    if (target.architecture > contents.ptx_target || (target.architecture == contents.ptx_target && target.specific && !best_is_specific)) {
      contents.ptx = payload;
      contents.ptx_target = target.architecture;
      best_is_specific = target.specific;
    }
  }
  if (!contents.ptx.empty()) return contents;
  const std::string name = std::to_string(device_architecture);
  if (compressed) contents.problem = "the embedded PTX is compressed; compile with -compress-mode=none";
  else if (newer)
    contents.problem = "the embedded PTX is for sm_" + std::to_string(newer) + ", which this device (sm_" + name +
                       ") cannot run; compile with -gencode=arch=compute_" + name + ",code=compute_" + name;
  else if (machine_code)
    contents.problem = "only machine code is embedded, and the CPU engine runs PTX; compile with -gencode=arch=compute_" + name + ",code=[sm_" +
                       name + ",compute_" + name + "]";
  else contents.problem = "no device code is embedded";
  return contents;
}

namespace {

// The sections of an ELF image; every access is checked against its end.
class Sections {
 public:
  explicit Sections(std::string_view image) : image_(image) {
    if (image.size() < sizeof(Elf64_Ehdr) || !is_elf(image.data())) return;
    const auto header = load<Elf64_Ehdr>(image.data());
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > image.size() ||
        header.e_shnum * sizeof(Elf64_Shdr) > image.size() - header.e_shoff)
      return;
    for (size_t i = 0; i < header.e_shnum; i++) headers_.push_back(load<Elf64_Shdr>(image.data() + header.e_shoff + i * sizeof(Elf64_Shdr)));
    if (header.e_shstrndx < headers_.size()) names_ = data(header.e_shstrndx);
  }
  size_t size() const { return headers_.size(); }
  const Elf64_Shdr& header(size_t index) const { return headers_[index]; }
  std::string_view name(size_t index) const { return text(names_, headers_[index].sh_name); }
  std::string_view data(size_t index) const {
    if (index >= headers_.size()) return {};
    const Elf64_Shdr& here = headers_[index];
    if (here.sh_type == SHT_NOBITS || here.sh_offset > image_.size() || here.sh_size > image_.size() - here.sh_offset) return {};
    return image_.substr(here.sh_offset, here.sh_size);
  }
  static std::string_view text(std::string_view table, size_t at) {
    if (at >= table.size()) return {};
    table = table.substr(at);
    return table.substr(0, table.find('\0'));
  }
  // Of a symbol, by its index in the symbol table.
  std::string_view symbol(size_t index) const {
    for (size_t i = 0; i < size(); i++) {
      if (headers_[i].sh_type != SHT_SYMTAB) continue;
      const std::string_view table = data(i);
      if (index >= table.size() / sizeof(Elf64_Sym)) return {};
      return text(data(headers_[i].sh_link), load<Elf64_Sym>(table.data() + index * sizeof(Elf64_Sym)).st_name);
    }
    return {};
  }

 private:
  std::string_view image_, names_;
  std::vector<Elf64_Shdr> headers_;
};

// ptxas's notes: a format, an attribute, and a size or a small value.
void read_register_counts(const Sections& sections, std::string_view notes, std::map<std::string, Resources>& resources) {
  constexpr uint8_t sized_value = 4, register_count = 0x2f, frame_size = 0x11;
  while (notes.size() >= 4) {
    const auto format = static_cast<uint8_t>(notes[0]), attribute = static_cast<uint8_t>(notes[1]);
    const size_t bytes = format == sized_value ? load<uint16_t>(notes.data() + 2) : 0;
    if (bytes > notes.size() - 4) return;
    if (attribute == register_count && bytes >= 8) {
      const std::string_view symbol = sections.symbol(load<uint32_t>(notes.data() + 4));
      if (!symbol.empty()) resources[std::string(symbol)].registers = static_cast<int>(load<uint32_t>(notes.data() + 8));
    }
    if (attribute == frame_size && bytes >= 8) {
      const std::string_view symbol = sections.symbol(load<uint32_t>(notes.data() + 4));
      if (!symbol.empty()) resources[std::string(symbol)].local_bytes = static_cast<int>(load<uint32_t>(notes.data() + 8));
    }
    notes.remove_prefix(4 + bytes);
  }
}

}  // namespace

void read_cubin(std::string_view image, std::map<std::string, Resources>& resources) {
  const Sections sections(image);
  for (size_t i = 0; i < sections.size(); i++) {
    const std::string_view name = sections.name(i);
    if (name == ".nv.info") read_register_counts(sections, sections.data(i), resources);
    if (name.starts_with(".nv.shared.") && sections.header(i).sh_type == SHT_NOBITS)
      resources[std::string(name.substr(11))].shared_bytes = sections.header(i).sh_size;
  }
}

}  // namespace cudanalyst::fatbin
