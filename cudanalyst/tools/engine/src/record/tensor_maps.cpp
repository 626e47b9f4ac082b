#include "tensor_maps.hpp"

#include <sys/random.h>

#include <cstdlib>
#include <cstring>

#include "api/api.hpp"
#include "api/errors.hpp"
#include "recorder.hpp"

namespace cudanalyst::record {

std::string TensorMap::arguments() const {
  std::string out = std::to_string(type) + " " + std::to_string(rank) + " " + hexadecimal(address);
  const auto add = [&](uint64_t value) { out += " " + std::to_string(value); };
  for (unsigned i = 0; i < rank; i++) add(sizes[i]);
  for (unsigned i = 0; i + 1 < rank; i++) add(strides[i]);
  for (unsigned i = 0; i < rank; i++) add(box[i]);
  for (unsigned i = 0; i < rank; i++) add(element_strides[i]);
  for (unsigned value : {interleave, swizzle, promotion, fill}) add(value);
  return out;
}

void TensorMaps::encode(const TensorMap& map, void* token) {
  std::string made(token_bytes, 0);
  if (::getrandom(made.data(), made.size(), 0) != static_cast<ssize_t>(made.size())) std::abort();
  std::memcpy(token, made.data(), made.size());
  maps_[made] = map;
}

const TensorMap* TensorMaps::find(const void* token) const {
  auto at = maps_.find(std::string(static_cast<const char*>(token), token_bytes));
  return at == maps_.end() ? nullptr : &at->second;
}

void TensorMaps::declare(std::span<const uint8_t> bytes, const std::function<void(const std::string&, const TensorMap&)>& tell) {
  if (bytes.size() < token_bytes) return;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (auto& [token, map] : maps_)
    if (!declared_.contains(token) && text.find(token) != std::string_view::npos) {
      declared_.insert(token);
      tell(token, map);
    }
}

namespace {

constexpr unsigned element_bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};  // by CUtensorMapDataType up to TFLOAT32_FTZ

// What the driver refuses, as far as the trace's reader will.
bool is_valid(const TensorMap& map) {
  if (map.type >= std::size(element_bytes) || map.rank < 1 || map.rank > 5) return false;
  if (map.interleave > 2 || map.swizzle > 6 || map.promotion > 3 || map.fill > 1) return false;
  if (map.address % (map.interleave == 2 ? 32 : 16)) return false;
  if (map.interleave && map.rank < 3) return false;
  for (unsigned i = 0; i < map.rank; i++) {
    if (!map.sizes[i] || map.sizes[i] > uint64_t{1} << 32) return false;
    if (!map.box[i] || map.box[i] > 256 || !map.element_strides[i] || map.element_strides[i] > 8) return false;
    if (i + 1 < map.rank && (map.strides[i] % (map.interleave == 2 ? 32 : 16) || map.strides[i] >= uint64_t{1} << 40)) return false;
  }
  return map.interleave || map.box[0] * element_bytes[map.type] % 16 == 0;
}

int encode(CUtensorMap* token, const TensorMap& map) {
  if (!is_valid(map))
    return errors::because(invalid_value, "api_error", "the arguments are not those of a tensor map (alignment, sizes, strides or box)");
  if (!backend().holds(map.address, 1)) return errors::because(invalid_value, "api_error", "the tensor's address is not in a buffer");
  recorder()->tensor_maps().encode(map, token);
  return success;
}

}  // namespace
}  // namespace cudanalyst::record

using namespace cudanalyst;
using record::TensorMap;

CUDANALYST_API CUresult cuTensorMapEncodeTiled(CUtensorMap* token, CUtensorMapDataType type, cuuint32_t rank, void* address, const cuuint64_t* sizes,
                                               const cuuint64_t* strides, const cuuint32_t* box, const cuuint32_t* element_strides,
                                               CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                               CUtensorMapFloatOOBfill fill) {
  return driver_call([&]() -> int {
    if (!record::recorder())
      return unsupported("function", "cuTensorMapEncodeTiled",
                         "the CPU engine has no tensor maps (TMA); run on a GPU, or copy with plain loads or cp.async");
    if (!token || !sizes || !box || !element_strides || rank < 1 || rank > 5 || (rank > 1 && !strides)) return invalid_value;
    TensorMap map{.type = type,
                  .rank = rank,
                  .address = reinterpret_cast<uint64_t>(address),
                  .interleave = interleave,
                  .swizzle = swizzle,
                  .promotion = promotion,
                  .fill = fill};
    for (unsigned i = 0; i < rank; i++) {
      map.sizes[i] = sizes[i];
      map.box[i] = box[i];
      map.element_strides[i] = element_strides[i];
      if (i + 1 < rank) map.strides[i] = strides[i];
    }
    const int error = record::encode(token, map);
    if (error) errors::report_failure(error, "cuTensorMapEncodeTiled");
    return error;
  });
}

CUDANALYST_API CUresult cuTensorMapReplaceAddress(CUtensorMap* token, void* address) {
  return driver_call([&]() -> int {
    if (!record::recorder())
      return unsupported("function", "cuTensorMapReplaceAddress",
                         "the CPU engine has no tensor maps (TMA); run on a GPU, or copy with plain loads or cp.async");
    const TensorMap* known = token ? record::recorder()->tensor_maps().find(token) : nullptr;
    if (!known) return invalid_value;
    TensorMap map = *known;
    map.address = reinterpret_cast<uint64_t>(address);
    return record::encode(token, map);
  });
}
