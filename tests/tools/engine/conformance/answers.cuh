// What the cases share: each runs in a process of its own, because some break the context for good.
#pragma once
#include <cuda.h>
#include <cudaProfiler.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

struct Case {
  const char* name;
  void (*body)();
  static std::vector<Case>& all() {
    static std::vector<Case> cases;
    return cases;
  }
  Case(const char* name, void (*body)()) : name(name), body(body) { all().push_back(*this); }
};

#define CASE(name)                              \
  static void name##_body();                    \
  static const Case name##_case(#name, name##_body); \
  static void name##_body()

// Said before the call, so that a call that ends the process is the last one in the record.
inline void ask(const char* text) {
  std::printf("%s: ", text);
  std::fflush(stdout);
}

// A runtime call: its code, and the last error where that is another one. Leaves no last error behind.
#define CALL(...)                                                     \
  do {                                                                \
    ask(#__VA_ARGS__);                                                \
    const int code = static_cast<int>(__VA_ARGS__);                   \
    const int last = static_cast<int>(cudaGetLastError());            \
    if (last == code) std::printf("%d\n", code);                      \
    else std::printf("%d, last error %d\n", code, last);              \
  } while (0)

// A call whose last error is none of the question: of the driver API, or one that asks for it.
#define DRIVER(...)                                   \
  do {                                                \
    ask(#__VA_ARGS__);                                \
    std::printf("%d\n", static_cast<int>(__VA_ARGS__)); \
  } while (0)

#define SHOW(...)                                              \
  do {                                                         \
    ask(#__VA_ARGS__);                                         \
    std::printf("%lld\n", static_cast<long long>(__VA_ARGS__)); \
  } while (0)

#define TEXT(...)                                \
  do {                                           \
    ask(#__VA_ARGS__);                           \
    const char* text = (__VA_ARGS__);            \
    std::printf("%s\n", text ? text : "(null)"); \
  } while (0)

// A launch by <<<>>>: the error that it leaves.
#define LAUNCH(...)                                                     \
  do {                                                                  \
    ask(#__VA_ARGS__);                                                  \
    __VA_ARGS__;                                                        \
    std::printf("%d\n", static_cast<int>(cudaGetLastError()));          \
  } while (0)

__global__ void plain(int* p) { if (p) p[threadIdx.x] = 1; }

template <typename T>
T* device_array(size_t count = 256) {
  T* p = nullptr;
  cudaMalloc(&p, count * sizeof(T));
  cudaMemset(p, 0, count * sizeof(T));
  return p;
}
