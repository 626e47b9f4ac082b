// Modules: PTX loaded, its variables placed in device memory, its kernels known.
#include "module.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace cudanalyst {
namespace {

std::string demangle(std::string_view symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && text ? text : std::string(symbol);
  std::free(text);
  return result;
}

void place_variables(ptx::Unit& unit, Module& module) {
  for (auto& v : unit.variables) {
    if (v->space != ptx::Space::global && v->space != ptx::Space::constant) continue;
    if (v->external)
      throw ptx::ParseError("the variable " + std::string(v->name) + " is defined in another module (separate compilation is not supported)", 0);
    const auto kind = v->managed                       ? memory::Kind::managed
                      : v->space == ptx::Space::global ? memory::Kind::global_variable
                                                       : memory::Kind::constant_variable;
    v->address = memory::allocate(std::max<size_t>(v->bytes, 1), kind, v->name, std::max<size_t>(v->align, 256));
    if (!v->address) throw ptx::ParseError("device memory is full: no room for the variable " + std::string(v->name), 0);
    module.owned.push_back(v->address);
  }
  for (auto& v : unit.variables) {
    if (v->space != ptx::Space::global && v->space != ptx::Space::constant) continue;
    std::vector<uint8_t> bytes(v->bytes);  // what has no initialiser is zero, as on a GPU
    for (const auto& piece : v->pieces) {
      uint64_t value = piece.value;
      if (!piece.symbol.empty()) {
        if (const auto it = unit.variable_by_name.find(piece.symbol); it != unit.variable_by_name.end()) value += it->second->address;
        else if (const auto f = unit.function_by_name.find(piece.symbol); f != unit.function_by_name.end())
          value += (uint64_t{f->second->number} + 0x100) * 16;
        else throw ptx::ParseError("unknown symbol " + std::string(piece.symbol) + " in an initialiser", 0);
      }
      if (piece.offset + piece.bytes > bytes.size()) throw ptx::ParseError("an initialiser is longer than its variable", 0);
      std::memcpy(bytes.data() + piece.offset, &value, piece.bytes);
    }
    memory::write(v->address, bytes.data(), bytes.size());
  }
}

}  // namespace

Module::~Module() {
  for (const uint64_t address : owned) memory::release(address);
}

std::shared_ptr<Module> load_ptx(std::string_view text, std::string& message) {
  try {
    auto module = std::make_shared<Module>();
    module->unit = ptx::parse_unit(text);
    place_variables(*module->unit, *module);
    for (auto& f : module->unit->functions) {
      if (!f->entry || !f->defined) continue;
      auto kernel = std::make_unique<Kernel>();
      kernel->module = module.get();
      kernel->function = f.get();
      KernelInfo& k = kernel->info;
      k.symbol = f->name;
      k.name = demangle(f->name);
      size_t at = 0;
      for (const auto& p : f->parameters) {
        at = (at + p.align - 1) / p.align * p.align;
        k.parameters.push_back({at, p.bytes});
        at += p.bytes;
      }
      k.max_threads = f->max_threads;
      std::copy(f->required, f->required + 3, k.required_threads);
      std::copy(f->cluster, f->cluster + 3, k.required_cluster);
      k.cooperative = f->body.find("%envreg2") != std::string_view::npos;
      module->kernel_by_name[k.symbol] = kernel.get();
      module->kernels.push_back(std::move(kernel));
    }
    return module;
  } catch (const ptx::ParseError& error) {
    message = error.what();
    if (error.line) message += " (line " + std::to_string(error.line) + " of the PTX)";
    return nullptr;
  }
}

Program* Kernel::program() {
  const std::lock_guard lock(mutex);
  if (!built && error.empty()) {
    try {
      built = build_program(*module->unit, *function);
      built->kernel = info.name;
      built->symbol = info.symbol;
      info.static_shared_bytes = built->static_shared;
      info.local_bytes = built->functions[0]->local_bytes;
    } catch (const ptx::ParseError& failure) { error = std::string(failure.what()) + " (line " + std::to_string(failure.line) + " of the PTX)"; }
  }
  return built.get();
}

Kernel* find_kernel(Module& module, std::string_view symbol) {
  const auto it = module.kernel_by_name.find(std::string(symbol));
  return it == module.kernel_by_name.end() ? nullptr : it->second;
}

std::optional<Symbol> find_variable(Module& module, std::string_view symbol) {
  const auto it = module.unit->variable_by_name.find(symbol);
  if (it == module.unit->variable_by_name.end() || !it->second->address) return std::nullopt;
  return Symbol{it->second->address, it->second->bytes};
}

size_t constant_bytes(const Module& module) {
  size_t bytes = 0;
  for (const auto& v : module.unit->variables)
    if (v->space == ptx::Space::constant) bytes = (bytes + v->align - 1) / v->align * v->align + v->bytes;
  return bytes;
}

std::vector<std::string> undefined_functions(const Module& module) {
  constexpr std::string_view known[] = {"vprintf", "__assertfail", "malloc", "free"};
  std::vector<std::string> names;
  for (const auto& f : module.unit->functions)
    if (!f->defined && std::find(std::begin(known), std::end(known), f->name) == std::end(known)) names.emplace_back(f->name);
  return names;
}

std::vector<std::string> kernel_symbols(const Module& module) {
  std::vector<std::string> result;
  for (const auto& k : module.kernels) result.push_back(k->info.symbol);
  return result;
}

const KernelInfo& info(const Kernel& kernel) {
  const_cast<Kernel&>(kernel).program();  // shared and local bytes are known once it is laid out
  return kernel.info;
}

}  // namespace cudanalyst
