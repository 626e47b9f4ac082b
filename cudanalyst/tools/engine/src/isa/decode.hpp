// Decoding: the table of instruction patterns, and what a decoder can ask about the statement before it.
//
// A row is a pattern and a decoder. In a pattern `{.a|.b}` may be absent, `(.a|.b)` must be there; everything else is literal.
// A statement that matches no row, or that its decoder rejects, is unsupported: nothing is ever ignored or guessed.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../exec/core.hpp"

namespace cudanalyst::isa {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

struct Rejected {
  std::string why;
};

class Builder;

class Decoder {
 public:
  Decoder(Program& program, const ptx::Function& f, Code& code, Builder& builder) : program(program), function(f), code(code), builder_(builder) {}

  void start(const ptx::Statement& s) {
    statement = &s;
    i = Instr{};
    mods.clear();
    types.clear();
  }
  size_t operands() const { return statement->count; }
  const Operand& operand(size_t k) const;
  const Operand& part(const Operand& o, size_t k) const { return function.parts[o.index + k]; }
  void expect_operands(size_t n) const;
  bool has(std::string_view modifier) const;
  Type type(size_t k = 0) const { return k < types.size() ? types[k] : Type::none; }
  [[noreturn, gnu::cold]] static void reject(std::string_view why);

  u32 register_slot(u32 index) const { return register_slots_->at(index); }
  unsigned register_bytes(u32 index) const { return ptx::bytes_of(function.registers[index]); }
  // A register of exactly `bytes` per lane (1 for a predicate), as destination; `_` gives a slot that nobody reads.
  u32 target(const Operand& o, unsigned bytes);
  u32 target(size_t k, unsigned bytes) { return target(operand(k), bytes); }
  // A register, literal, variable address or special register as source.
  u32 source(const Operand& o, unsigned bytes);
  u32 source(size_t k, unsigned bytes) { return source(operand(k), bytes); }
  u32 predicate(const Operand& o, bool& negated);
  u32 constant(u64 value, unsigned bytes);
  u32 special(Special what, unsigned bytes);
  u32 scratch(unsigned bytes);
  u32 carry_slot() { return carry_ == none ? carry_ = take(1) : carry_; }
  // Base, offset and cache of i for a memory operand; the space must already be in i.space.
  void address(const Operand& o);
  u32 new_cache() { return program.caches++; }
  Instr* keep(const Instr& inner);
  u32 label(std::string_view name) const;
  u32 shared_offset(const ptx::Variable* v) const;

  Program& program;
  const ptx::Function& function;
  Code& code;
  const ptx::Statement* statement = nullptr;
  Instr i;
  std::vector<std::string_view> mods;
  std::vector<Type> types;
  const std::vector<u32>* register_slots_ = nullptr;
  bool is_entry = false;
  u32 base_pc = 0;

 private:
  friend class Builder;
  u32 take(unsigned bytes);
  u32 carry_ = none;
  Builder& builder_;
  std::vector<std::pair<std::pair<u64, unsigned>, u32>> constants_;
  std::vector<std::pair<std::pair<Special, unsigned>, u32>> specials_;
};

struct Row {
  const char* pattern;
  void (*decode)(Decoder&);
};

std::span<const Row> integer_rows();
std::span<const Row> bit_rows();
std::span<const Row> float_rows();
std::span<const Row> half_rows();
std::span<const Row> convert_rows();
std::span<const Row> narrow_rows();
std::span<const Row> video_rows();
std::span<const Row> compare_rows();
std::span<const Row> move_rows();
std::span<const Row> address_rows();
std::span<const Row> memory_rows();
std::span<const Row> atomic_rows();
std::span<const Row> warp_rows();
std::span<const Row> control_rows();
std::span<const Row> async_rows();
std::span<const Row> mbarrier_rows();
std::span<const Row> bulk_rows();
std::span<const Row> matrix_rows();
std::span<const Row> mma_rows();

// The executor of an access that takes (leads) or uses the shape of its address register; nullptr when the access has no such form.
Execute shaped(const Instr& i, bool leads);

// The row for a full opcode, with its modifiers split; nullptr when no row matches.
const Row* find_row(std::string_view opcode, std::vector<std::string_view>& mods);

}  // namespace cudanalyst::isa

namespace cudanalyst {
// Decodes a kernel with everything it can reach.
std::unique_ptr<Program> build_program(ptx::Unit& unit, ptx::Function& kernel);
}  // namespace cudanalyst
