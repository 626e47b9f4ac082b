// Cases of the suite: a file holds several, each a function of the host, and the arguments choose which.
//
// Without arguments the names are listed; `--all` runs every case, one after another, in one process.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace suite {

struct Case {
  const char* name;
  void (*run)();
};
inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}
struct Entry {
  Entry(const char* name, void (*run)()) { cases().push_back({name, run}); }
};

// Runs a case, then prints how the device is left: a fault shows in the output whatever the case looks at.
inline int run(const Case& one) {
  std::printf("case %s\n", one.name);
  one.run();
  const cudaError_t waited = cudaDeviceSynchronize(), last = cudaGetLastError();
  const cudaError_t error = waited != cudaSuccess ? waited : last;
  std::printf("end %s\n", cudaGetErrorName(error));
  std::fflush(stdout);
  return error == cudaSuccess ? 0 : 1;
}

// Numbers that look random and are the same everywhere.
struct Random {
  uint32_t state = 1;
  uint32_t next() {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
  }
  uint32_t below(uint32_t n) { return next() % n; }
};
inline std::vector<int> numbers(size_t n, uint32_t below, uint32_t seed = 1) {
  Random random{seed};
  std::vector<int> all(n);
  for (int& one : all) one = static_cast<int>(random.below(below));
  return all;
}
// Small whole numbers, so that sums are exact in any order.
template <class T>
std::vector<T> whole(size_t n, uint32_t below = 16, uint32_t seed = 1) {
  Random random{seed};
  std::vector<T> all;
  for (size_t i = 0; i < n; ++i) all.push_back(static_cast<T>(static_cast<float>(random.below(below))));
  return all;
}

// Bytes as FNV-1a, with the first words: what two machines are compared by.
inline void show(const char* name, const void* bytes, size_t count) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  uint64_t hash = 14695981039346656037ull;
  for (size_t i = 0; i < count; ++i) hash = (hash ^ at[i]) * 1099511628211ull;
  std::printf("%s %zu B %016llx", name, count, static_cast<unsigned long long>(hash));
  for (size_t i = 0; i + 4 <= count && i < 16; i += 4) {
    uint32_t word;
    std::memcpy(&word, at + i, 4);
    std::printf(" %08x", word);
  }
  std::printf("\n");
}

// Device memory of a case, given back at its end.
template <class T>
class Array {
 public:
  explicit Array(size_t n) : size_(n) { cudaMalloc(&at_, n ? n * sizeof(T) : 1); }  // nothing is written to it
  Array(size_t n, int byte) : Array(n) { cudaMemset(at_, byte, n * sizeof(T)); }
  Array(const std::vector<T>& from) : Array(from.size()) { cudaMemcpy(at_, from.data(), size_ * sizeof(T), cudaMemcpyHostToDevice); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(at_); }
  operator T*() const { return at_; }
  T* get() const { return at_; }
  size_t size() const { return size_; }
  std::vector<T> host() const {
    std::vector<T> to(size_);
    cudaMemcpy(to.data(), at_, size_ * sizeof(T), cudaMemcpyDeviceToHost);
    return to;
  }
  void show(const char* name) const {
    const auto all = host();
    suite::show(name, all.data(), size_ * sizeof(T));
  }

 private:
  T* at_ = nullptr;
  size_t size_;
};

// Says whether what the host expects came out; a case that computes its own truth ends with this.
inline void expect(const char* name, bool good) { std::printf("%s %s\n", name, good ? "as expected" : "WRONG"); }
template <class T>
void expect_equal(const char* name, const std::vector<T>& got, const std::vector<T>& wanted) {
  size_t wrong = 0, first = 0;
  for (size_t i = wanted.size(); i-- > 0;) {
    if (std::memcmp(&got[i], &wanted[i], sizeof(T)) != 0) ++wrong, first = i;
  }
  if (wrong == 0) std::printf("%s as expected\n", name);
  else std::printf("%s WRONG at %zu of %zu, first %zu\n", name, wrong, wanted.size(), first);
}

}  // namespace suite

#define CASE(name)                                             \
  static void case_##name();                                   \
  static const suite::Entry entry_##name(#name, case_##name); \
  static void case_##name()

int main(int count, char** words) {
  if (count < 2) {
    for (const auto& one : suite::cases()) std::printf("%s\n", one.name);
    return 0;
  }
  int status = 2;
  for (const auto& one : suite::cases()) {
    bool wanted = std::strcmp(words[1], "--all") == 0;
    for (int k = 1; k < count; ++k) wanted |= std::strcmp(words[k], one.name) == 0;
    if (wanted) status = (status == 2 ? 0 : status) | suite::run(one);
  }
  return status;
}
