// PTX as parsed: declarations of a module, and statements of a function whose registers and variables are resolved.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cudanalyst::ptx {

enum class Type : uint8_t { none, pred, u8, s8, b8, u16, s16, b16, f16, bf16, u32, s32, b32, f32, tf32, f16x2, bf16x2, u64, s64, b64, f64, b128 };
Type type_of(std::string_view modifier);  // ".u32"; none if it is no type
unsigned bytes_of(Type type);
inline bool is_signed(Type t) { return t == Type::s8 || t == Type::s16 || t == Type::s32 || t == Type::s64; }

enum class Space : uint8_t { reg, global, constant, shared, local, param };

struct Piece {  // part of an initialiser
  size_t offset;
  unsigned bytes;
  uint64_t value;           // literal, or addend to the symbol's address
  std::string_view symbol;  // empty for a literal
  bool generic;
};

struct Variable {
  std::string_view name;
  Space space = Space::global;
  Type type = Type::b8;
  size_t bytes = 0, align = 1;
  bool external = false, unsized = false, managed = false;
  std::vector<Piece> pieces;
  uint64_t address = 0;  // global and constant: device address; local and param of functions: offset in the frame
};

struct Location {
  uint32_t file = 0, line = 0, column = 0;
  int32_t inlined_at = -1;  // index of the location of the call
};

struct Operand {
  enum Kind : uint8_t { none, reg, integer, real32, real64, variable, address, vector, pair, group, name, sink };
  Kind kind = none;
  bool negated = false;       // `!%p`
  bool has_register = false;  // address: a register is the base
  uint32_t count = 0;         // vector, pair, group: number of parts
  uint32_t index = 0;         // register number, or the first part
  int64_t value = 0;          // literal bits, or offset
  const Variable* base = nullptr;
  std::string_view text;  // name, or the part of a register
};

struct Statement {
  std::string_view op;
  int32_t predicate = -1;
  bool negated = false;
  uint32_t first = 0, count = 0;  // operands
  int32_t location = -1;
  uint32_t scope = 0, line = 0;
};

struct Function {
  std::string_view name;
  bool entry = false, defined = false;
  std::vector<Variable> parameters, results;
  uint32_t max_threads = 0;
  uint32_t required[3] = {};
  uint32_t cluster[3] = {};  // of .reqnctapercluster
  std::string_view body;     // text between the braces
  uint32_t body_line = 0;
  uint32_t number = 0;  // its address, as function pointers hold it, comes from this
  // Filled when the body is parsed.
  bool parsed = false;
  std::vector<Type> registers;
  std::vector<std::unique_ptr<Variable>> variables;
  std::vector<Statement> statements;
  std::vector<Operand> operands, parts;
  std::vector<Location> locations;
  std::map<std::pair<uint32_t, std::string_view>, uint32_t> labels;                        // (scope, name) -> statement
  std::map<std::pair<uint32_t, std::string_view>, std::vector<std::string_view>> targets;  // .branchtargets
  std::vector<uint32_t> scope_parent;
};

struct Unit {
  std::string text;
  std::map<uint32_t, std::string> files;
  std::vector<std::unique_ptr<Variable>> variables;
  std::unordered_map<std::string_view, Variable*> variable_by_name;
  std::vector<std::unique_ptr<Function>> functions;
  std::unordered_map<std::string_view, Function*> function_by_name;
};

struct ParseError : std::runtime_error {
  uint32_t line;
  ParseError(const std::string& message, uint32_t at) : std::runtime_error(message), line(at) {}
};

// Declarations only; bodies are kept as text.
std::unique_ptr<Unit> parse_unit(std::string_view text);
void parse_body(const Unit& unit, Function& function);

}  // namespace cudanalyst::ptx
