// One library of many cases: compiled once, and each call of solve picks its case by `which` (the test appends the choice).
#include <cuda.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#define SOLVE(name) static int name(const float* x, float* y, int n, void* ws, size_t bytes, cudaStream_t stream)
#define INIT(name) static int init_##name(int64_t n)

__constant__ float factors[4];

__global__ void axpy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
__global__ void part(const float* x, float* p, int n) { p[blockIdx.x] = x[blockIdx.x] + n; }
__global__ void scale(const float* x, float* y, int n) { y[threadIdx.x] = x[threadIdx.x] * factors[n & 3]; }
__global__ void big(float* y) {
  extern __shared__ float s[];
  s[threadIdx.x] = 1;
  y[0] = s[0];
}

static void forge(const char* text) {
  int file = open("out/0.trace", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (write(file, text, strlen(text)) < 0) abort();
  close(file);
}

// Before anything of the runner's: asked for by a file.
__attribute__((constructor)) static void early() {
  char what = 0;
  int file = open("early", O_RDONLY);
  if (file < 0 || read(file, &what, 1) != 1) return;
  close(file);
  forge("\x1b[31mCORRECT 1.0x\n");
  if (what == 'x') _exit(0);
}

SOLVE(plain) {
  axpy<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}

SOLVE(queries) {
  int sms = 0, blocks = 0;
  for (int i = 0; i < 3; i++) cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, axpy, 256, 0);
  plain(x, y, n, ws, bytes, stream);
  return sms;
}

INIT(shared_memory) { return cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000); }
SOLVE(shared_memory) {
  big<<<1, 32, 100000, stream>>>(y);
  return cudaGetLastError();
}

SOLVE(too_much_shared_memory) {
  axpy<<<1, 32, 100000, stream>>>(x, y, n);
  return 0;
}

SOLVE(two_kernels) {
  cudaMemsetAsync(ws, 0, bytes, stream);
  part<<<4, 64, 0, stream>>>(x, (float*)ws, n);
  axpy<<<1, 64, 0, stream>>>((float*)ws, y, 4);
  return cudaMemcpyAsync(y + 4, ws, 16, cudaMemcpyDeviceToDevice, stream);
}

SOLVE(rows) { return cudaMemcpy2DAsync(y, 100, x, 200, 64, 5, cudaMemcpyDeviceToDevice, stream) | cudaMemset2DAsync(ws, 32, 7, 16, 3, stream); }

static cudaStream_t side;
static cudaEvent_t forked, joined;
static void make() {
  if (side) return;
  cudaStreamCreateWithPriority(&side, cudaStreamNonBlocking, -2);
  cudaEventCreateWithFlags(&forked, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&joined, cudaEventDisableTiming);
}
static void fork_work(const float* x, float* y, int n, cudaStream_t stream) {
  make();
  cudaEventRecord(forked, stream);
  cudaStreamWaitEvent(side, forked, 0);
  axpy<<<2, 256, 0, stream>>>(x, y, n / 2);
  axpy<<<2, 256, 0, side>>>(x + n / 2, y + n / 2, n - n / 2);
}
SOLVE(forked_streams) {
  fork_work(x, y, n, stream);
  cudaEventRecord(joined, side);
  cudaStreamWaitEvent(stream, joined, 0);
  return cudaGetLastError();
}
INIT(cached_streams) {
  make();
  return 0;
}
SOLVE(cached_streams) { return forked_streams(x, y, n, ws, bytes, stream); }
SOLVE(unjoined) {
  fork_work(x, y, n, stream);
  return 0;
}
SOLVE(unforked) {
  cudaStream_t own;
  cudaStreamCreate(&own);
  axpy<<<1, 32, 0, own>>>(x, y, n);
  return 0;
}

SOLVE(cooperative) {
  void* arguments[] = {&x, &y, &n};
  return cudaLaunchCooperativeKernel(axpy, dim3(4), dim3(256), arguments, 0, stream);
}
SOLVE(cooperative_too_large) {
  void* arguments[] = {&x, &y, &n};
  return cudaLaunchCooperativeKernel(axpy, dim3(132 * 8 + 1), dim3(256), arguments, 0, stream);
}

SOLVE(attributes) {
  cudaLaunchAttribute at[3];
  memset(at, 0xa5, sizeof at);
  at[0].id = cudaLaunchAttributeClusterDimension;
  at[0].val.clusterDim = {2, 1, 1};
  at[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  at[1].val.programmaticStreamSerializationAllowed = 1;
  at[2].id = cudaLaunchAttributePriority;
  at[2].val.priority = -1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(4);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = at;
  config.numAttrs = 3;
  return cudaLaunchKernelEx(&config, axpy, x, y, n);
}
SOLVE(access_policy) {
  cudaLaunchAttribute at[1] = {};
  at[0].id = cudaLaunchAttributeAccessPolicyWindow;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  config.stream = stream;
  config.attrs = at;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, axpy, x, y, n);
}

INIT(constants) {
  float h[4] = {1, 2, 3, 4};
  return cudaMemcpyToSymbol(factors, h, sizeof h);
}
SOLVE(constants) {
  float h = 5;
  cudaMemcpyToSymbolAsync(factors, &h, 4, 8, cudaMemcpyHostToDevice, stream);
  scale<<<1, 256, 0, stream>>>(x, y, n);
  return 0;
}

static float* table;
INIT(own_memory) {
  float* other;
  cudaMalloc(&other, 100);
  cudaMalloc(&table, 4000);
  cudaFree(other);
  cudaMemset(table, 0, 4000);
  cudaStream_t own;
  cudaStreamCreate(&own);
  axpy<<<1, 256, 0, own>>>(table, table, 256);
  return cudaStreamSynchronize(own) | cudaDeviceSynchronize();
}
SOLVE(own_memory) {
  axpy<<<1, 256, 0, stream>>>(table, y, n);
  return 0;
}
INIT(arena_full) {
  void* p;
  return cudaMalloc(&p, 2 << 20);
}
SOLVE(arena_full) { return 0; }
INIT(pinned) {
  void* p;
  return cudaMallocHost(&p, 64);
}
SOLVE(pinned) { return 0; }
INIT(gives_up) { return 5; }
SOLVE(gives_up) { return 0; }
INIT(reads_back) {
  float h;
  return cudaMemcpyFromSymbol(&h, factors, 4);
}
SOLVE(reads_back) { return 0; }

#define GET(name) \
  decltype(&name) p_##name; \
  cudaGetDriverEntryPointByVersion(#name, (void**)&p_##name, 13000, cudaEnableDefault, &found)
SOLVE(driver) {
  cudaDriverEntryPointQueryResult found;
  GET(cuLaunchKernel);
  GET(cuMemsetD32Async);
  GET(cuMemcpyDtoDAsync);
  GET(cuMemcpyHtoDAsync);
  GET(cuStreamWaitEvent);
  GET(cuEventRecord);
  GET(cuStreamCreate);
  GET(cuEventCreate);
  GET(cuLaunchKernelEx);
  cudaFunction_t function;
  if (cudaGetFuncBySymbol(&function, (const void*)axpy)) return 91;
  void* arguments[] = {&x, &y, &n};
  CUstream own;
  CUevent event;
  p_cuStreamCreate(&own, CU_STREAM_NON_BLOCKING);
  p_cuEventCreate(&event, 0);
  p_cuEventRecord(event, stream);
  p_cuStreamWaitEvent(own, event, 0);
  p_cuMemsetD32Async((CUdeviceptr)y, 0x3f800000, n, own);
  p_cuEventRecord(event, own);
  p_cuStreamWaitEvent(stream, event, 0);
  p_cuMemcpyDtoDAsync((CUdeviceptr)y, (CUdeviceptr)x, 64, stream);
  p_cuMemcpyHtoDAsync((CUdeviceptr)y, &n, 4, stream);
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  if (p_cuLaunchKernelEx(&config, (CUfunction)function, arguments, nullptr)) return 92;
  return p_cuLaunchKernel((CUfunction)function, 1, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr);
}

INIT(throws_in_init) { throw 1; }
SOLVE(throws_in_init) { return 0; }

// What is refused.
SOLVE(synchronises) {
  plain(x, y, n, ws, bytes, stream);
  return cudaDeviceSynchronize();
}
SOLVE(waits_for_the_stream) { return cudaStreamSynchronize(stream); }
SOLVE(allocates) {
  void* p;
  return cudaMalloc(&p, 64);
}
SOLVE(allocates_managed) {
  void* p;
  return cudaMallocManaged(&p, 64);
}
SOLVE(legacy_stream) {
  axpy<<<1, 32>>>(x, y, n);
  return 0;
}
SOLVE(blocking_copy) { return cudaMemcpy(y, x, 16, cudaMemcpyDeviceToDevice); }
SOLVE(copies_back) {
  float h;
  return cudaMemcpyAsync(&h, x, 4, cudaMemcpyDeviceToHost, stream);
}
SOLVE(callback) {
  return cudaLaunchHostFunc(stream, [](void*) {}, nullptr);
}
SOLVE(graph) {
  cudaGraph_t g;
  return cudaGraphCreate(&g, 0);
}
SOLVE(asks_for_times) {
  cudaEvent_t a, b;
  float ms;
  cudaEventCreate(&a);
  cudaEventCreate(&b);
  cudaEventRecord(a, stream);
  cudaEventRecord(b, stream);
  return cudaEventElapsedTime(&ms, a, b);
}
SOLVE(copies_into_input) { return cudaMemcpyAsync((void*)x, y, 16, cudaMemcpyDeviceToDevice, stream); }
SOLVE(fills_input) { return cudaMemsetAsync((void*)x, 0, 16, stream); }
SOLVE(persisting_l2) { return cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20); }
SOLVE(stream_window) {
  cudaStreamAttrValue value = {};
  return cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value);
}
SOLVE(loads_code) {
  cudaLibrary_t library;
  return cudaLibraryLoadData(&library, ".version 9.0", 0, 0, 0, 0, 0, 0);
}
SOLVE(uploads_much) {
  static char h[4000];
  for (int i = 0; i < 17; i++) cudaMemcpyAsync(ws, h, sizeof h, cudaMemcpyHostToDevice, stream);
  return 0;
}
SOLVE(launches_much) {
  for (int i = 0; i < 5000; i++) plain(x, y, n, ws, bytes, stream);
  return 0;
}

SOLVE(launches_much_then_calls_back) {
  for (int i = 0; i < 5000; i++) plain(x, y, n, ws, bytes, stream);
  return cudaLaunchHostFunc(stream, [](void*) {}, nullptr);
}
SOLVE(captures_on_its_own_stream) {
  cudaStream_t own;
  cudaStreamCreate(&own);
  cudaStreamBeginCapture(own, cudaStreamCaptureModeGlobal);
  axpy<<<1, 32, 0, own>>>(x, y, n);
  return 0;
}

// How it can end.
SOLVE(copies_past_the_end) { return cudaMemcpyAsync(y, x, 4004, cudaMemcpyDeviceToDevice, stream); }
SOLVE(throws) { throw 1; }
SOLVE(streams_many) {
  cudaEvent_t fork, join;
  cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
  cudaEventRecord(fork, stream);
  for (int i = 0; i < 64; i++) {
    cudaStream_t own;
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaStreamWaitEvent(own, fork, 0);
    cudaMemsetAsync(y, 0, 4, own);
    cudaEventRecord(join, own);
    cudaStreamWaitEvent(stream, join, 0);
  }
  return 0;
}
SOLVE(throws_with_words) { throw std::runtime_error("this shape: not supported"); }
SOLVE(allows_too_much_shared_memory) { return cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, 300000); }
SOLVE(forges) {
  forge("cudanalyst-trace 1\nfill deadbeef00 0 1 64 1 0 0\nend 0\n");
  _exit(0);
}
SOLVE(leaves) { _exit(0); }
SOLVE(crashes) { return y[0] > 0; }
SOLVE(loops) {
  for (volatile int i = 0;; i = 1) {
  }
}
static int calls;
SOLVE(counts_calls) {
  if (calls++) return 7;
  return plain(x, y, n, ws, bytes, stream);
}
