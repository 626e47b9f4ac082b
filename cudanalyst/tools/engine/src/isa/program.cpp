// Builds a program: finds what a kernel reaches, lays out its memory, decodes it.
#include <algorithm>
#include <map>
#include <set>

#include "lanes.hpp"

namespace cudanalyst {

namespace isa {

class Builder {
 public:
  Builder(ptx::Unit& unit, ptx::Function& kernel) : unit_(unit), kernel_(kernel) {}

  std::unique_ptr<Program> build() {
    program_ = std::make_unique<Program>();
    program_->unit = &unit_;
    reach();
    lay_out();
    u32 pc = 0;
    for (auto& code : program_->functions) {
      code->entry = pc;
      pc += static_cast<u32>(code->source->statements.size()) + 1;
      code->end = pc;
    }
    program_->code.reserve(pc);
    for (auto& code : program_->functions) decode(*code);
    return std::move(program_);
  }

  std::map<const ptx::Variable*, u32> shared;
  ptx::Unit& unit() { return unit_; }

 private:
  void add(ptx::Function* f) {
    if (program_->by_number.count(f->number)) return;
    ptx::parse_body(unit_, *f);
    auto code = std::make_unique<Code>();
    code->source = f;
    program_->by_number[f->number] = code.get();
    program_->functions.push_back(std::move(code));
  }

  void add_named(std::string_view name) {
    const auto it = unit_.function_by_name.find(name);
    if (it != unit_.function_by_name.end() && it->second->defined) add(it->second);
  }

  void names(const ptx::Function& f, const ptx::Operand& o) {
    if (o.kind == ptx::Operand::name) {
      add_named(o.text);
      program_->reserved_shared |= o.text.starts_with("%reserved_smem");
    }
    if (o.kind == ptx::Operand::vector || o.kind == ptx::Operand::group || o.kind == ptx::Operand::pair)
      for (u32 k = 0; k < o.count; ++k) names(f, f.parts[o.index + k]);
  }

  // What a pointer may hold that another kernel of the module stored: functions whose address is taken anywhere.
  void add_taken() {
    for (const auto& f : unit_.functions) {
      if (!f->defined) continue;
      ptx::parse_body(unit_, *f);
      for (const auto& s : f->statements)
        if (s.op.substr(0, 3) == "mov")
          for (u32 k = 0; k < s.count; ++k) names(*f, f->operands[s.first + k]);
    }
  }

  void reach() {
    add(&kernel_);
    bool indirect = false;
    for (size_t at = 0; at < program_->functions.size(); ++at) {
      const ptx::Function& f = *program_->functions[at]->source;
      for (const auto& s : f.statements) {
        const bool call = s.op.substr(0, 4) == "call";
        for (u32 k = 0; k < s.count; ++k) {
          const auto& o = f.operands[s.first + k];
          if (call && o.kind == ptx::Operand::reg && !indirect) {
            indirect = true;
            for (const auto& v : unit_.variables)
              for (const auto& piece : v->pieces)
                if (!piece.symbol.empty()) add_named(piece.symbol);
            add_taken();
          }
          names(f, o);
        }
        program_->has_calls |= call || s.op.substr(0, 6) == "alloca";
      }
    }
  }

  void use_shared(const ptx::Function& f, const ptx::Operand& o, std::vector<const ptx::Variable*>& found) {
    if ((o.kind == ptx::Operand::variable || o.kind == ptx::Operand::address) && o.base && o.base->space == ptx::Space::shared)
      found.push_back(o.base);
    if (o.kind == ptx::Operand::vector || o.kind == ptx::Operand::group || o.kind == ptx::Operand::pair)
      for (u32 k = 0; k < o.count; ++k) use_shared(f, f.parts[o.index + k], found);
  }

  void lay_out() {
    std::vector<const ptx::Variable*> found, dynamic;
    for (auto& code : program_->functions) {
      const ptx::Function& f = *code->source;
      for (const auto& o : f.operands) use_shared(f, o, found);
      u32 top = 0;
      const auto place = [&](const ptx::Variable& v) {
        const auto align = static_cast<u32>(std::max<size_t>(v.align, 1));
        top = (top + align - 1) / align * align;
        const_cast<ptx::Variable&>(v).address = top;
        top += static_cast<u32>(v.bytes);
      };
      if (f.entry) {
        u32 at = 0;
        for (const auto& v : f.parameters) {
          const auto align = static_cast<u32>(std::max<size_t>(v.align, 1));
          at = (at + align - 1) / align * align;
          const_cast<ptx::Variable&>(v).address = at;
          at += static_cast<u32>(v.bytes);
        }
      } else {
        for (const auto& v : f.parameters)
          place(v), code->parameter_offset.push_back(static_cast<u32>(v.address)), code->parameter_bytes.push_back(static_cast<u32>(v.bytes));
        for (const auto& v : f.results)
          place(v), code->result_offset.push_back(static_cast<u32>(v.address)), code->result_bytes.push_back(static_cast<u32>(v.bytes));
      }
      for (const auto& v : f.variables)
        if (v->space == ptx::Space::local || v->space == ptx::Space::param) place(*v);
      code->local_bytes = top;
    }
    size_t top = 0, dynamic_align = 16;
    for (const auto* v : found) {
      if (shared.count(v)) continue;
      if (v->external || v->bytes == 0) {
        dynamic.push_back(v);
        dynamic_align = std::max(dynamic_align, v->align);
        continue;
      }
      const size_t align = std::max<size_t>(v->align, 1);
      top = (top + align - 1) / align * align;
      shared[v] = static_cast<u32>(top);
      top += v->bytes;
    }
    if (!dynamic.empty()) top = (top + dynamic_align - 1) / dynamic_align * dynamic_align;
    program_->static_shared = top;
    for (const auto* v : dynamic) shared[v] = static_cast<u32>(top);
  }

  void decode(Code& code) {
    const ptx::Function& f = *code.source;
    Decoder d(*program_, f, code, *this);
    d.is_entry = f.entry;
    d.base_pc = code.entry;
    std::vector<u32> slots;
    for (const ptx::Type t : f.registers) slots.push_back(d.take(ptx::bytes_of(t)));
    d.register_slots_ = &slots;
    for (const auto& s : f.statements) {
      d.start(s);
      const Row* row = find_row(s.op, d.mods);
      std::string why;
      try {
        if (!row) Decoder::reject("");
        for (const auto m : d.mods)
          if (const Type t = ptx::type_of(m); t != Type::none) d.types.push_back(t);
        if (s.predicate >= 0) {
          if (f.registers[static_cast<u32>(s.predicate)] != Type::pred) Decoder::reject("its guard is no predicate");
          d.i.predicate = static_cast<s32>(slots[static_cast<u32>(s.predicate)]);
          d.i.negated = s.negated;
        }
        row->decode(d);
      } catch (const Rejected& rejected) {
        Instr bad;
        bad.location = s.location;
        bad.pc = static_cast<u32>(program_->code.size());
        program_->code.push_back(bad);
        const Place at = program_->place(bad);
        program_->unsupported.push_back({std::string(s.op) + (rejected.why.empty() ? "" : " (" + rejected.why + ")"), at.file, at.line});
        continue;
      }
      d.i.location = s.location;
      d.i.pc = static_cast<u32>(program_->code.size());
      program_->code.push_back(d.i);
    }
    Instr end;
    end.control = Control::ret;
    end.mix = MixClass::control;
    end.location = f.statements.empty() ? -1 : f.statements.back().location;
    end.pc = static_cast<u32>(program_->code.size());
    program_->code.push_back(end);
    relax_guesses(code);
    share_shapes(d, code);
    for (u32 pc = code.end; pc-- > code.entry;) {
      Instr& i = program_->code[pc];
      i.run = i.control == Control::normal && i.predicate < 0 && i.fn ? 1 + (pc + 1 < code.end ? program_->code[pc + 1].run : 0) : 0;
    }
  }

  static void written(const ptx::Function& f, const ptx::Operand& o, std::set<u32>& registers) {
    if (o.kind == ptx::Operand::reg) registers.insert(o.index);
    if (o.kind == ptx::Operand::vector || o.kind == ptx::Operand::group || o.kind == ptx::Operand::pair)
      for (u32 k = 0; k < o.count; ++k) written(f, f.parts[o.index + k], registers);
  }

  // A plain load that feeds nothing but the comparison of a compare-and-swap (and what is computed from it) is a guess: a stale value only
  // makes the swap fail and try again. To racecheck it is a relaxed read, as every published loop around atomicCAS expects.
  void relax_guesses(Code& code) {
    const ptx::Function& f = *code.source;
    const auto operand = [&](const ptx::Statement& s, u32 k) -> const ptx::Operand& { return f.operands[s.first + k]; };
    std::set<u32> guesses;
    for (const auto& s : f.statements)
      if (s.op.starts_with("atom") && s.op.find(".cas") != std::string_view::npos && s.count == 4 && operand(s, 2).kind == ptx::Operand::reg)
        guesses.insert(operand(s, 2).index);
    if (guesses.empty()) return;
    for (size_t before = 0; before != guesses.size();) {
      before = guesses.size();
      for (const auto& s : f.statements)
        if (s.op.starts_with("mov") && s.count == 2 && operand(s, 0).kind == ptx::Operand::reg && operand(s, 1).kind == ptx::Operand::reg &&
            guesses.count(operand(s, 0).index))
          guesses.insert(operand(s, 1).index);
    }
    for (u32 k = 0; k < f.statements.size(); ++k) {
      const auto& s = f.statements[k];
      Instr& i = program_->code[code.entry + k];
      if (i.access == Access::read && s.op.starts_with("ld") && s.count && operand(s, 0).kind == ptx::Operand::reg &&
          guesses.count(operand(s, 0).index))
        i.strong = true;
    }
  }

  // Accesses to shared memory from one base register, at several offsets in a stretch of code that no lane joins or leaves: the first takes
  // the shape of the register, the others use it. A destination always is (in) the first operand of a PTX statement.
  void share_shapes(Decoder& d, Code& code) {
    const ptx::Function& f = *code.source;
    std::set<u32> joins;
    for (const auto& [name, at] : f.labels) joins.insert(at);
    struct Leader {
      u32 pc;
      u32 slot;
    };
    std::map<u32, Leader> leaders;  // by address register
    std::set<u32> changed;
    for (u32 k = 0; k < f.statements.size(); ++k) {
      const auto& s = f.statements[k];
      const u32 pc = code.entry + k;
      Instr& i = program_->code[pc];
      if (joins.count(k) || (k && program_->code[pc - 1].control != Control::normal)) leaders.clear();
      if (i.predicate < 0 && shaped(i, false)) {
        const u32 address = i.a;
        if (const auto it = leaders.find(address); it != leaders.end()) {
          if (it->second.slot == none) {
            it->second.slot = d.scratch(2);
            Instr& first = program_->code[it->second.pc];
            first.shape = it->second.slot;
            first.fn = shaped(first, true);
          }
          i.shape = it->second.slot;
          i.fn = shaped(i, false);
        } else {
          leaders[address] = {pc, none};
        }
      }
      if (!s.count || leaders.empty()) continue;
      changed.clear();
      written(f, f.operands[s.first], changed);
      for (const u32 r : changed) leaders.erase(d.register_slot(r));
    }
  }

  ptx::Unit& unit_;
  ptx::Function& kernel_;
  std::unique_ptr<Program> program_;
};

void Decoder::reject(std::string_view why) { throw Rejected{std::string(why)}; }

const Operand& Decoder::operand(size_t k) const {
  if (k >= statement->count) reject("it has too few operands");
  return function.operands[statement->first + k];
}

void Decoder::expect_operands(size_t n) const {
  if (statement->count != n) reject("it has " + std::to_string(statement->count) + " operands instead of " + std::to_string(n));
}

bool Decoder::has(std::string_view modifier) const { return std::find(mods.begin(), mods.end(), modifier) != mods.end(); }

void sources(Decoder& d, unsigned n, unsigned bytes) {
  d.expect_operands(n + 1);
  d.i.d = d.target(0, bytes);
  d.i.a = d.source(1, bytes);
  if (n > 1) d.i.b = d.source(2, bytes);
  if (n > 2) d.i.c = d.source(3, bytes);
}

void finish(Decoder& d, Execute fn, MixClass mix) {
  if (!fn) Decoder::reject("types that it does not have");
  d.i.fn = fn;
  d.i.mix = mix;
}

u32 Decoder::take(unsigned bytes) {
  const u32 at = code.register_bytes;
  code.register_bytes += 32 * bytes;
  return at;
}

u32 Decoder::scratch(unsigned bytes) { return take(bytes); }

u32 Decoder::constant(u64 value, unsigned bytes) {
  if (bytes < 8) value &= (u64{1} << (8 * bytes)) - 1;
  for (const auto& [key, slot] : constants_)
    if (key.first == value && key.second == bytes) return slot;
  const u32 slot = take(bytes);
  constants_.push_back({{value, bytes}, slot});
  code.constants.push_back({slot, static_cast<u8>(bytes), value});
  return slot;
}

u32 Decoder::special(Special what, unsigned bytes) {
  for (const auto& [key, slot] : specials_)
    if (key.first == what && key.second == bytes) return slot;
  const u32 slot = take(bytes);
  specials_.push_back({{what, bytes}, slot});
  code.specials.push_back({slot, what, static_cast<u8>(bytes)});
  return slot;
}

u32 Decoder::target(const Operand& o, unsigned bytes) {
  if (o.kind == Operand::sink) return take(bytes);
  if (o.kind != Operand::reg) reject("its destination is no register");
  if (!o.text.empty()) reject("a part of a register");
  if (register_bytes(o.index) != bytes) reject("its destination has another width");
  return register_slot(o.index);
}

u32 Decoder::shared_offset(const ptx::Variable* v) const { return builder_.shared.at(v); }

u32 Decoder::source(const Operand& o, unsigned bytes) {
  if (o.negated) reject("a negated operand");
  switch (o.kind) {
    case Operand::reg:
      if (!o.text.empty()) reject("a part of a register");
      if (register_bytes(o.index) != bytes) reject("a source has another width");
      return register_slot(o.index);
    case Operand::integer: return constant(static_cast<u64>(o.value), bytes);
    case Operand::real32: {
      if (bytes != 4) reject("a 32-bit literal for another width");
      return constant(static_cast<u64>(o.value), 4);
    }
    case Operand::real64: {
      if (bytes == 8) return constant(static_cast<u64>(o.value), 8);
      if (bytes != 4) reject("a 64-bit literal for another width");
      double wide;
      std::memcpy(&wide, &o.value, 8);
      const auto narrow = static_cast<float>(wide);
      u32 bits;
      std::memcpy(&bits, &narrow, 4);
      return constant(bits, 4);
    }
    case Operand::variable: {
      const ptx::Variable* v = o.base;
      if (v->space == Space::shared) return constant(shared_offset(v) + static_cast<u64>(o.value), bytes);
      if ((v->space == Space::global || v->space == Space::constant) && bytes == 8) return constant(v->address + static_cast<u64>(o.value), bytes);
      reject("the address of a variable of this kind as an operand");
    }
    case Operand::name: {
      static const std::map<std::string_view, Special> names = {{"%tid.x", Special::tid_x},
                                                                {"%tid.y", Special::tid_y},
                                                                {"%tid.z", Special::tid_z},
                                                                {"%ntid.x", Special::ntid_x},
                                                                {"%ntid.y", Special::ntid_y},
                                                                {"%ntid.z", Special::ntid_z},
                                                                {"%ctaid.x", Special::ctaid_x},
                                                                {"%ctaid.y", Special::ctaid_y},
                                                                {"%ctaid.z", Special::ctaid_z},
                                                                {"%nctaid.x", Special::nctaid_x},
                                                                {"%nctaid.y", Special::nctaid_y},
                                                                {"%nctaid.z", Special::nctaid_z},
                                                                {"%laneid", Special::laneid},
                                                                {"%warpid", Special::warpid},
                                                                {"%nwarpid", Special::nwarpid},
                                                                {"%smid", Special::smid},
                                                                {"%nsmid", Special::nsmid},
                                                                {"%gridid", Special::gridid},
                                                                {"%lanemask_eq", Special::lanemask_eq},
                                                                {"%lanemask_le", Special::lanemask_le},
                                                                {"%lanemask_lt", Special::lanemask_lt},
                                                                {"%lanemask_ge", Special::lanemask_ge},
                                                                {"%lanemask_gt", Special::lanemask_gt},
                                                                {"%dynamic_smem_size", Special::dynamic_smem_size},
                                                                {"%total_smem_size", Special::total_smem_size},
                                                                {"%clusterid.x", Special::clusterid_x},
                                                                {"%clusterid.y", Special::clusterid_y},
                                                                {"%clusterid.z", Special::clusterid_z},
                                                                {"%nclusterid.x", Special::nclusterid_x},
                                                                {"%nclusterid.y", Special::nclusterid_y},
                                                                {"%nclusterid.z", Special::nclusterid_z},
                                                                {"%cluster_ctaid.x", Special::cluster_ctaid_x},
                                                                {"%cluster_ctaid.y", Special::cluster_ctaid_y},
                                                                {"%cluster_ctaid.z", Special::cluster_ctaid_z},
                                                                {"%cluster_nctaid.x", Special::cluster_nctaid_x},
                                                                {"%cluster_nctaid.y", Special::cluster_nctaid_y},
                                                                {"%cluster_nctaid.z", Special::cluster_nctaid_z},
                                                                {"%cluster_ctarank", Special::cluster_ctarank},
                                                                {"%cluster_nctarank", Special::cluster_nctarank},
                                                                {"%reserved_smem_offset_begin", Special::reserved_smem_begin},
                                                                {"%reserved_smem_offset_0", Special::reserved_smem_begin},
                                                                {"%reserved_smem_offset_1", Special::reserved_smem_1},
                                                                {"%reserved_smem_offset_2", Special::reserved_smem_2},
                                                                {"%reserved_smem_offset_end", Special::reserved_smem_end},
                                                                {"%envreg1", Special::envreg1},
                                                                {"%envreg2", Special::envreg2}};
      if (o.text == "WARP_SZ") return constant(32, bytes);
      if (o.text == "%reserved_smem_offset_cap") return constant(reserved_shared_bytes, bytes);
      const auto it = names.find(o.text);
      if (it != names.end()) return special(it->second, bytes);
      const auto f = builder_.unit().function_by_name.find(o.text);
      if (f != builder_.unit().function_by_name.end() && bytes == 8) return constant((u64{f->second->number} + 0x100) * 16, 8);
      reject("unknown operand " + std::string(o.text));
    }
    default: reject("an operand of this form");
  }
}

u32 Decoder::predicate(const Operand& o, bool& negated) {
  negated = o.negated;
  if (o.kind == Operand::integer) return constant(o.value != 0, 1);
  if (o.kind == Operand::name && o.text == "%is_explicit_cluster") return special(Special::is_explicit_cluster, 1);
  if (o.kind != Operand::reg || register_bytes(o.index) != 1) reject("an operand that should be a predicate");
  return register_slot(o.index);
}

void Decoder::address(const Operand& o) {
  if (o.kind != Operand::address) reject("an operand that should be an address");
  i.offset = o.value;
  i.cache = new_cache();
  if (o.has_register) {
    const unsigned bytes = register_bytes(o.index);
    if (bytes != 4 && bytes != 8) reject("an address of this width");
    i.a = register_slot(o.index);
    i.base = bytes == 8 ? AddressBase::register64 : AddressBase::register32;
    return;
  }
  i.base = AddressBase::absolute;
  if (!o.base) return;
  switch (o.base->space) {
    case Space::shared: i.offset += shared_offset(o.base); break;
    case Space::local:
    case Space::param: i.base = AddressBase::frame; [[fallthrough]];
    default: i.offset += static_cast<s64>(o.base->address);
  }
}

Instr* Decoder::keep(const Instr& inner) {
  program.inner.push_back(std::make_unique<Instr>(inner));
  return program.inner.back().get();
}

u32 Decoder::label(std::string_view name) const {
  for (u32 scope = statement->scope;; scope = function.scope_parent[scope]) {
    const auto it = function.labels.find({scope, name});
    if (it != function.labels.end()) return base_pc + it->second;
    if (scope == 0) break;
  }
  for (const auto& [key, at] : function.labels)  // a label of an inner block is visible nowhere else
    if (key.second == name) reject("a jump into a block");
  reject("unknown label " + std::string(name));
}

}  // namespace isa

const Code* Program::function_at(u32 pc) const {
  for (const auto& f : functions)
    if (pc >= f->entry && pc < f->end) return f.get();
  return functions.front().get();
}

namespace {
// Code of the toolkit's headers is not where an engineer looks: the line is then that of the call into them.
bool is_toolkit(const std::string& file) {
  for (const char* part : {"/targets/x86_64-linux/include/", "/targets/sbsa-linux/include/", "/cu13/include/", "/cuda/include/", "/cccl/",
                           "/cooperative_groups/", "/bin/../include/", "/include/crt/", "cuda_fp16.hpp", "cuda_bf16.hpp"})
    if (file.find(part) != std::string::npos) return true;
  return false;
}
}  // namespace

Place Program::place(const Instr& i) const {
  Place result;
  if (i.location < 0) return result;
  const Code* code = function_at(i.pc);
  const auto& all = code->source->locations;
  const auto name = [&](const ptx::Location& at) {
    const auto it = unit->files.find(at.file);
    return it == unit->files.end() ? std::string() : it->second;
  };
  s32 at = i.location;
  while (all[static_cast<size_t>(at)].inlined_at >= 0 && is_toolkit(name(all[static_cast<size_t>(at)]))) at = all[static_cast<size_t>(at)].inlined_at;
  result.file = name(all[static_cast<size_t>(at)]);
  result.line = all[static_cast<size_t>(at)].line;
  for (at = all[static_cast<size_t>(at)].inlined_at; at >= 0 && result.inlined_at.size() < 16; at = all[static_cast<size_t>(at)].inlined_at)
    result.inlined_at.emplace_back(name(all[static_cast<size_t>(at)]), all[static_cast<size_t>(at)].line);
  return result;
}

std::unique_ptr<Program> build_program(ptx::Unit& unit, ptx::Function& kernel) { return isa::Builder(unit, kernel).build(); }

}  // namespace cudanalyst
