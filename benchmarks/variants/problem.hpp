// A problem: named sizes, its arrays with their contents, and the result that is right.
#pragma once
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

enum class Type { f32, u32, i32, u8 };

struct Array {
  std::string name;
  Type type;
  std::vector<uint8_t> bytes;
  bool result = false;
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes.data());
  }
};

struct Problem {
  const char* name;
  std::vector<std::vector<long>> sizes;                             // smallest first
  std::function<std::vector<Array>(const long*)> arrays;            // contents of the inputs; results are zero
  std::function<void(const long*, std::vector<Array>&)> reference;  // writes the results
  double tolerance = 0;                                             // of the largest magnitude of a result
  double share_wrong = 0;                                           // of results that may be beyond it: where rounding decides a branch
};

extern "C" const Problem* problem();

inline uint64_t draw(uint64_t& state) {  // splitmix64
  uint64_t x = state += 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

inline Array floats(const char* name, size_t count, uint64_t seed, float low = -1, float high = 1) {
  Array a{name, Type::f32, std::vector<uint8_t>(count * 4)};
  auto* x = a.as<float>();
  for (size_t i = 0; i < count; i += 2) {
    const uint64_t bits = draw(seed);
    x[i] = low + (high - low) * static_cast<float>(bits >> 40) * 0x1p-24f;
    if (i + 1 < count) x[i + 1] = low + (high - low) * static_cast<float>(bits & 0xffffff) * 0x1p-24f;
  }
  return a;
}

inline Array integers(const char* name, size_t count, uint64_t seed, uint64_t below, Type type = Type::i32) {
  const size_t size = type == Type::u8 ? 1 : 4;
  Array a{name, type, std::vector<uint8_t>(count * size)};
  for (size_t i = 0; i < count; ++i) {
    const uint64_t value = (draw(seed) >> 16) % below;
    std::memcpy(a.bytes.data() + i * size, &value, size);
  }
  return a;
}

inline Array zeros(const char* name, Type type, size_t count, bool result = true) {
  return {name, type, std::vector<uint8_t>(count * (type == Type::u8 ? 1 : 4)), result};
}
