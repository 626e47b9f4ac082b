// A fault and its correct twin from one text: `right` tells which of the two is meant.
#pragma once
#include "../suite.cuh"

#define PAIR(name)                     \
  template <bool right>                \
  static void both_##name();           \
  CASE(name) { both_##name<false>(); } \
  CASE(name##_right) { both_##name<true>(); } \
  template <bool right>                \
  static void both_##name()

// Device memory of `n` elements, all bytes zero.
template <class T>
T* zeros(size_t n) {
  T* p = nullptr;
  cudaMalloc(&p, n * sizeof(T));
  cudaMemset(p, 0, n * sizeof(T));
  return p;
}

// Waits for all that was launched. What it returns is the fault's own business.
inline void settle() { cudaDeviceSynchronize(); }
