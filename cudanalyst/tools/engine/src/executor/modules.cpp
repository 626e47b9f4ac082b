// module, symbol, occupancy.
#include <algorithm>

#include "commands.hpp"

namespace cudanalyst::executor {
namespace {

int attribute_of(CUfunction function, CUfunction_attribute attribute) {
  int value = 0;
  CU(cuFuncGetAttribute, &value, attribute, function);
  return value;
}

// A parameter has a byte at least.
constexpr size_t most_parameter_bytes = 32764;

Kernel describe(CUfunction function) {
  const char* symbol = nullptr;
  CU(cuFuncGetName, &symbol, function);
  Kernel kernel{symbol, function, {}};
  for (size_t index = 0;; index++) {
    size_t offset = 0, bytes = 0;
    const CUresult result = driver().cuFuncGetParamInfo(function, index, &offset, &bytes);
    if (result == CUDA_ERROR_INVALID_VALUE) return kernel;
    check(result, "cuFuncGetParamInfo");
    kernel.parameters.emplace_back(offset, bytes);
    if (index >= most_parameter_bytes) throw BadCommand("kernel `" + kernel.symbol + "` has more parameters than any kernel can");
  }
}

std::string row(const Kernel& kernel) {
  std::vector<std::string> parameters;
  for (auto& [offset, bytes] : kernel.parameters) parameters.push_back("[" + std::to_string(offset) + "," + std::to_string(bytes) + "]");
  Object row;
  row.add("symbol", kernel.symbol);
  row.add("registers", attribute_of(kernel.function, CU_FUNC_ATTRIBUTE_NUM_REGS));
  row.add("static_shared_bytes", attribute_of(kernel.function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  row.add("local_bytes", attribute_of(kernel.function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  row.add("constant_bytes", attribute_of(kernel.function, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
  row.add("max_threads", attribute_of(kernel.function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  row.add("ptx_version", attribute_of(kernel.function, CU_FUNC_ATTRIBUTE_PTX_VERSION));
  row.add("binary_version", attribute_of(kernel.function, CU_FUNC_ATTRIBUTE_BINARY_VERSION));
  return row.raw("parameters", array(parameters)).text();
}

Owned<CUmodule> load_image(const std::string& path) {
  const std::string image = read_file(path);
  if (image.empty()) throw IoFailure(path + " is empty");
  static char log[8192];
  log[0] = 0;
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log - 1)};
  CUmodule handle = nullptr;
  try {
    CU(cuModuleLoadDataEx, &handle, image.c_str(), 2, options, values);
  } catch (const CudaFailure& failure) {
    throw CudaFailure(failure.code, failure.name, failure.what() + (": " + path.substr(path.rfind('/') + 1)) + (*log ? std::string(": ") + log : ""));
  }
  return Owned<CUmodule>(handle);
}

void load(Session& session, Words& words, Object& answer) {
  const std::string slot = words.text("SLOT"), path = words.text("PATH");
  words.end();
  if (session.modules.contains(slot)) throw BadCommand("slot `" + slot + "` holds a module");
  LoadedModule made{load_image(path), {}};
  unsigned count = 0;
  CU(cuModuleGetFunctionCount, &count, made.handle.get());
  std::vector<CUfunction> functions(count);
  if (count) CU(cuModuleEnumerateFunctions, functions.data(), count, made.handle.get());
  std::vector<std::string> rows;
  for (CUfunction function : functions) {
    Kernel kernel = describe(function);
    rows.push_back(row(kernel));
    std::string symbol = kernel.symbol;
    made.kernels.emplace(std::move(symbol), std::move(kernel));
  }
  session.modules.emplace(slot, std::move(made));
  answer.raw("kernels", array(rows));
}

void unload(Session& session, Words& words, Object&) {
  const std::string slot = words.text("SLOT");
  words.end();
  session.module(slot);
  session.modules.erase(slot);
}

void symbol(Session& session, Words& words, Object& answer) {
  LoadedModule& module = session.module(words.text("SLOT"));
  const std::string name = words.text("NAME");
  words.end();
  CUdeviceptr address = 0;
  size_t bytes = 0;
  CU(cuModuleGetGlobal, &address, &bytes, module.handle.get(), name.c_str());
  answer.add("address", address).add("bytes", bytes);
}

void occupancy(Session& session, Words& words, Object& answer) {
  LoadedModule& module = session.module(words.text("SLOT"));
  const Kernel& kernel = session.kernel(module, words.text("SYMBOL"));
  const auto block = static_cast<int>(words.number("BLOCK", 1 << 20));
  const size_t dynamic = words.number("DYNAMIC");
  words.end();
  int blocks = 0;
  CU(cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, kernel.function, block, dynamic);
  answer.add("blocks", blocks);
}

}  // namespace

void add_module_commands(Commands& commands) { commands.add("module", load).add("unload", unload).add("symbol", symbol).add("occupancy", occupancy); }

}  // namespace cudanalyst::executor
