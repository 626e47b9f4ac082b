// What the programs here share: each named check compares with what the host computes; `FAIL NAME` where they differ.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

inline int failures = 0;

inline void verdict(const char* name, size_t n, bool good) {
  const cudaError_t error = cudaDeviceSynchronize();
  if (!good || error) failures++;
  std::printf("%s %s %zu%s%s\n", good && !error ? "ok" : "FAIL", name, n, error ? " " : "", error ? cudaGetErrorString(error) : "");
}

template <typename T>
struct Device {
  T* at = nullptr;
  size_t n;
  explicit Device(size_t count) : n(count) { cudaMalloc(&at, std::max<size_t>(n, 1) * sizeof(T)); }
  explicit Device(const std::vector<T>& v) : Device(v.size()) { cudaMemcpy(at, v.data(), n * sizeof(T), cudaMemcpyHostToDevice); }
  Device(const Device&) = delete;
  ~Device() { cudaFree(at); }
  std::vector<T> get(size_t count) const {
    std::vector<T> v(count);
    cudaMemcpy(v.data(), at, count * sizeof(T), cudaMemcpyDeviceToHost);
    return v;
  }
  std::vector<T> get() const { return get(n); }
};

template <typename T>
std::vector<T> numbers(size_t n, unsigned modulus = 1u << 20) {
  std::vector<T> v(n);
  unsigned x = 12345;
  for (auto& i : v) x = x * 1664525u + 1013904223u, i = static_cast<T>((x >> 8) % modulus) - static_cast<T>(modulus / 4);
  return v;
}

// CUB's two steps: how much temporary memory, then the work.
template <typename Step>
void in_two_steps(Step step) {
  size_t bytes = 0;
  cudaError_t error = step(nullptr, bytes);
  void* temporary = nullptr;
  cudaMalloc(&temporary, std::max<size_t>(bytes, 1));
  if (!error) error = step(temporary, bytes);
  if (error) std::printf("error %d\n", error);
  cudaDeviceSynchronize();
  cudaFree(temporary);
}
