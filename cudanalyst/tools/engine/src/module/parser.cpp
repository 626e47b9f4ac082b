#include <algorithm>
#include <optional>

#include "lexer.hpp"

namespace cudanalyst::ptx {

Type type_of(std::string_view m) {
  static const std::unordered_map<std::string_view, Type> types = {
      {".pred", Type::pred}, {".u8", Type::u8},       {".s8", Type::s8},         {".b8", Type::b8},   {".u16", Type::u16}, {".s16", Type::s16},
      {".b16", Type::b16},   {".f16", Type::f16},     {".bf16", Type::bf16},     {".u32", Type::u32}, {".s32", Type::s32}, {".b32", Type::b32},
      {".f32", Type::f32},   {".f16x2", Type::f16x2}, {".bf16x2", Type::bf16x2}, {".u64", Type::u64}, {".s64", Type::s64}, {".b64", Type::b64},
      {".f64", Type::f64},   {".b128", Type::b128},   {".tf32", Type::tf32}};
  const auto found = types.find(m);
  return found == types.end() ? Type::none : found->second;
}

unsigned bytes_of(Type t) {
  if (t == Type::pred || t <= Type::b8) return 1;
  if (t <= Type::bf16) return 2;
  if (t <= Type::bf16x2) return 4;
  return t == Type::b128 ? 16 : 8;
}

namespace {

std::optional<Space> space_of(std::string_view d) {
  if (d == ".global") return Space::global;
  if (d == ".const") return Space::constant;
  if (d == ".shared") return Space::shared;
  if (d == ".local") return Space::local;
  if (d == ".param") return Space::param;
  return std::nullopt;
}

uint64_t integer(Lexer& lex) {
  const bool negative = lex.take('-');
  const Token t = lex.next();
  if (t.kind != Token::integer) lex.fail("expected a number before '" + std::string(t.text) + "'");
  return negative ? ~t.value + 1 : t.value;
}

// One element of an initialiser: literal, symbol, symbol+n, generic(symbol)+n, mask(symbol).
void element(Lexer& lex, Variable& v, size_t offset, unsigned bytes) {
  Piece piece{offset, bytes, 0, {}, false};
  const Token& t = lex.peek();
  if (t.kind == Token::real32 || t.kind == Token::real64 || t.kind == Token::integer || lex.is('-')) {
    if (lex.is('-') || t.kind == Token::integer) piece.value = integer(lex);
    else piece.value = lex.next().value;
  } else if (t.kind == Token::name) {
    std::string_view name = lex.next().text;
    if (name == "generic" && lex.take('(')) {
      piece.generic = true;
      name = lex.next().text;
      lex.expect(')');
    } else if (lex.is('(')) {
      lex.fail("unsupported initialiser " + std::string(name) + "(...)");
    }
    piece.symbol = name;
    if (lex.take('+')) piece.value = integer(lex);
    else if (lex.is('-')) piece.value = integer(lex);
  } else {
    lex.fail("unexpected '" + std::string(t.text) + "' in an initialiser");
  }
  v.pieces.push_back(piece);
}

void initialiser(Lexer& lex, Variable& v, size_t& offset, unsigned bytes) {
  if (lex.take('{')) {
    while (!lex.take('}')) {
      initialiser(lex, v, offset, bytes);
      lex.take(',');
    }
    return;
  }
  element(lex, v, offset, bytes);
  offset += bytes;
}

// After the space: `.align 4 .b8 name[64] = {...}`; also several names, and `.v2`.
Variable declaration(Lexer& lex, Space space) {
  Variable v;
  v.space = space;
  size_t lanes = 1, align = 0;
  while (lex.peek().kind == Token::directive) {
    const Token d = lex.next();
    if (d.text == ".align") align = integer(lex);
    else if (d.text == ".v2") lanes = 2;
    else if (d.text == ".v4") lanes = 4;
    else if (d.text == ".ptr" || d.text == ".attribute" || space_of(d.text)) {
      if (d.text == ".attribute") {
        lex.expect('(');
        while (!lex.take(')')) v.managed = lex.next().text == ".managed" || v.managed;
      }
    } else if (const Type t = type_of(d.text); t != Type::none) v.type = t;
    else lex.fail("unsupported declaration " + std::string(d.text));
  }
  const unsigned element_bytes = bytes_of(v.type);
  v.align = align ? align : element_bytes * lanes;
  if (lex.peek().kind != Token::name) lex.fail("expected a name");
  v.name = lex.next().text;
  size_t count = lanes;
  while (lex.take('[')) {
    if (lex.is(']')) v.unsized = true;
    else count *= integer(lex);
    lex.expect(']');
  }
  if (v.unsized) count = 0;
  v.bytes = count * element_bytes;
  if (lex.take('=')) {
    size_t offset = 0;
    initialiser(lex, v, offset, element_bytes);
    if (v.unsized) v.bytes = offset, v.unsized = false;
  }
  return v;
}

std::vector<Variable> parameters(Lexer& lex) {
  std::vector<Variable> result;
  if (!lex.take('(')) return result;
  while (!lex.take(')')) {
    const Token d = lex.next();
    if (d.text != ".param" && d.text != ".reg") lex.fail("expected .param before '" + std::string(d.text) + "'");
    result.push_back(declaration(lex, Space::param));
    lex.take(',');
  }
  return result;
}

void function(Lexer& lex, Unit& unit, bool entry) {
  auto made = std::make_unique<Function>();
  made->entry = entry;
  if (lex.peek().kind == Token::directive) lex.next();  // .attribute and the like would be refused below
  if (!entry) made->results = parameters(lex);
  made->name = lex.next().text;
  made->parameters = parameters(lex);
  while (lex.peek().kind == Token::directive) {
    const std::string_view d = lex.next().text;
    if (d == ".maxntid" || d == ".reqntid" || d == ".reqnctapercluster") {
      uint32_t size[3] = {1, 1, 1};
      for (unsigned i = 0; i < 3; ++i) {
        size[i] = static_cast<uint32_t>(integer(lex));
        if (!lex.take(',')) break;
      }
      if (d == ".reqnctapercluster") {
        std::copy(size, size + 3, made->cluster);
        continue;
      }
      if (d == ".reqntid") std::copy(size, size + 3, made->required);
      made->max_threads = size[0] * size[1] * size[2];
    } else if (d == ".minnctapersm" || d == ".maxnreg" || d == ".maxnctapersm" || d == ".maxclusterrank" || d == ".explicitcluster" ||
               d == ".pragma" || d == ".noreturn" || d == ".abi_preserve" || d == ".abi_preserve_control" || d == ".blocksareclusters") {
      while (lex.peek().kind == Token::integer || lex.peek().kind == Token::string || lex.is(',')) lex.next();
      if (d == ".pragma") lex.take(';');
    } else {
      lex.fail("unsupported directive " + std::string(d));
    }
  }
  Function* f = made.get();
  if (lex.is('{')) {
    f->defined = true;
    lex.take('{');
    f->body_line = lex.peek().line;
    f->body = lex.skip_braces();
  } else {
    lex.take(';');
  }
  auto found = unit.function_by_name.find(f->name);
  if (found != unit.function_by_name.end()) {
    if (!f->defined) return;
    made->number = found->second->number;
    *found->second = std::move(*made);
    return;
  }
  f->number = static_cast<uint32_t>(unit.functions.size());
  unit.function_by_name[f->name] = f;
  unit.functions.push_back(std::move(made));
}

void file_directive(Lexer& lex, Unit& unit) {
  const auto number = static_cast<uint32_t>(integer(lex));
  unit.files[number] = std::string(lex.next().text);
  while (lex.take(',')) integer(lex);
}

}  // namespace

std::unique_ptr<Unit> parse_unit(std::string_view text) {
  auto unit = std::make_unique<Unit>();
  unit->text = text;
  Lexer lex(unit->text, 1);
  bool external = false, version = false;
  while (lex.peek().kind != Token::end) {
    const Token t = lex.next();
    if (t.kind != Token::directive) throw ParseError("unexpected '" + std::string(t.text) + "'", t.line);
    const std::string_view d = t.text;
    if (d == ".version") {
      version = true;
      lex.next();
    } else if (d == ".target") {
      do lex.next();
      while (lex.take(','));
    } else if (d == ".address_size") {
      if (integer(lex) != 64) throw ParseError("only 64-bit PTX is supported", t.line);
    } else if (d == ".extern") external = true;
    else if (d == ".visible" || d == ".weak" || d == ".common") external = false;
    else if (d == ".entry" || d == ".func") {
      function(lex, *unit, d == ".entry");
      external = false;
    } else if (d == ".file") file_directive(lex, *unit);
    else if (d == ".section") {
      lex.next();
      lex.expect('{');
      lex.skip_braces();
    } else if (d == ".pragma") {
      while (!lex.take(';')) lex.next();
    } else if (d == ".alias") {
      const std::string_view alias = lex.next().text;
      lex.expect(',');
      const auto target = unit->function_by_name.find(lex.next().text);
      lex.expect(';');
      if (target == unit->function_by_name.end()) throw ParseError("an alias names no function", t.line);
      unit->function_by_name[alias] = target->second;
    } else if (const auto space = space_of(d)) {
      do {
        auto v = std::make_unique<Variable>(declaration(lex, *space));
        v->external = external;
        auto& slot = unit->variable_by_name[v->name];
        if (slot && external) continue;
        slot = v.get();
        unit->variables.push_back(std::move(v));
      } while (lex.take(','));
      lex.expect(';');
      external = false;
    } else {
      throw ParseError("unsupported directive " + std::string(d), t.line);
    }
  }
  if (!version) throw ParseError("the text is not PTX: it has no .version", 1);
  // Linked text may declare what it defines later.
  std::erase_if(unit->variables, [&](const auto& v) { return v->external && unit->variable_by_name[v->name] != v.get(); });
  return unit;
}

}  // namespace cudanalyst::ptx
