// Asks the runtime API questions whose answers are facts of a device: prints each expression with its value. The answers of an H200
// (driver 580, CUDA 13.0) are recorded in data/api_answers_h200.txt, by this program. One case a process: some break the context.
#include <cuda_runtime.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define SHOW(expression) printf("%s = %d\n", #expression, (int)(expression))

__device__ int device_words[16];
__constant__ float constants[8];
__managed__ int managed_word = 7;

__global__ void plain(int* p) { if (p) p[threadIdx.x] = 1; }
__global__ void __launch_bounds__(64) bounded(int* p) { if (p) p[threadIdx.x] = 1; }
__global__ void out_of_bounds(int* p) { p[1 << 28] = 1; }
__global__ void trapping(int*) { asm("trap;"); }
__global__ void misaligned(int* p) { *(int*)((char*)p + 1) = 1; }
__global__ void static_shared(int* p) {
  __shared__ int s[10000];
  s[threadIdx.x] = 1;
  __syncthreads();
  p[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern __shared__ int dynamic_words[];
__global__ void dynamic_shared(int* p) {
  dynamic_words[threadIdx.x] = 1;
  if (p) p[0] = dynamic_words[0];
}

static void attributes() {
  for (int id = 1; id < 148; id++) {
    int value = 0;
    if (id == 34 || id == 139 || id == 140) continue;  // where the card is plugged in
    if (!cudaDeviceGetAttribute(&value, (cudaDeviceAttr)id, 0)) printf("attribute %d = %d\n", id, value);
  }
  for (int id = 0; id < 8; id++) {
    size_t value = 0;
    cudaError_t error = cudaDeviceGetLimit(&value, (cudaLimit)id);
    printf("limit %d = %zu, error %d\n", id, value, error);
  }
  int least = 9, greatest = 9;
  SHOW(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  SHOW(least);
  SHOW(greatest);
  SHOW(cudaSetDevice(5));
}

static void launches() {
  int* p;
  cudaMalloc(&p, 1 << 20);
#define LAUNCHED(...) do { cudaGetLastError(); __VA_ARGS__; printf("%s: %d\n", #__VA_ARGS__, cudaGetLastError()); } while (0)
  LAUNCHED(plain<<<0, 32>>>(p));
  LAUNCHED(plain<<<1, 0>>>(p));
  LAUNCHED(plain<<<1, 1025>>>(p));
  LAUNCHED(plain<<<1, dim3(1, 1, 65)>>>(p));
  LAUNCHED(plain<<<dim3(1, 65536), 32>>>(p));
  LAUNCHED(bounded<<<1, 65>>>(p));
  LAUNCHED(plain<<<1, 32, 49153>>>(p));
  LAUNCHED(plain<<<1, 32, 49152>>>(p));
  LAUNCHED(static_shared<<<1, 32, 10000>>>(p));
  LAUNCHED(dynamic_shared<<<1, 32, 100000>>>(p));
  SHOW(cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
  LAUNCHED(dynamic_shared<<<1, 32, 100000>>>(p));
  LAUNCHED(dynamic_shared<<<1, 32, 100001>>>(p));
  SHOW(cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449));
  SHOW(cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448));
  SHOW(cudaFuncSetAttribute(static_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448));
  LAUNCHED(dynamic_shared<<<1, 32, 300000>>>(p));
  void* arguments[] = {&p};
  SHOW(cudaLaunchKernel((void*)launches, 1, 32, arguments, 0, 0));
  SHOW(cudaLaunchCooperativeKernel((void*)plain, 100000, 32, arguments, 0, 0));
  SHOW(cudaLaunchCooperativeKernel((void*)plain, 100, 32, arguments, 0, 0));
  SHOW(cudaGetLastError());
  SHOW(cudaDeviceSynchronize());
}

static void fault(void (*kernel)(int*)) {
  int *p, h, count;
  cudaDeviceProp properties;
  cudaStream_t stream;
  cudaEvent_t event;
  size_t free, total;
  cudaMalloc(&p, 1024);
  kernel<<<1, 32>>>(p);
  SHOW(cudaGetLastError());
  usleep(200000);
  SHOW(cudaPeekAtLastError());
  SHOW(cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost));
  SHOW(cudaPeekAtLastError());
  SHOW(cudaGetLastError());
  SHOW(cudaGetLastError());
  SHOW(cudaDeviceSynchronize());
  SHOW(cudaMalloc(&p, 4));
  SHOW(cudaFree(p));
  plain<<<1, 32>>>(p);
  SHOW(cudaGetLastError());
  SHOW(cudaGetLastError());
  SHOW(cudaGetDeviceCount(&count));
  SHOW(cudaGetDevice(&count));
  SHOW(cudaGetDeviceProperties(&properties, 0));
  SHOW(cudaDeviceGetAttribute(&count, cudaDevAttrWarpSize, 0));
  SHOW(cudaSetDevice(0));
  SHOW(cudaStreamCreate(&stream));
  SHOW(cudaEventCreate(&event));
  SHOW(cudaMemGetInfo(&free, &total));
  SHOW(cudaDeviceReset());
  SHOW(cudaGetLastError());
  SHOW(cudaMalloc(&p, 4));
  SHOW(cudaGetLastError());
}

static void memory() {
  int *p, h[64] = {};
  void* q;
  size_t bytes, pitch;
  cudaMalloc(&p, 1024);
  SHOW(cudaFree(0));
  SHOW(cudaFree(p + 1));
  SHOW(cudaFree(h));
  SHOW(cudaGetLastError());
  SHOW(cudaFree(p));
  SHOW(cudaFree(p));
  cudaMalloc(&p, 1024);
  SHOW(cudaMemcpy(p, h, 1 << 30, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(h, p, 4, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(p, h, 4, cudaMemcpyDeviceToHost));
  SHOW(cudaMemcpy(p, p + 4, 4, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(p, h, 4, cudaMemcpyDeviceToDevice));
  SHOW(cudaMemcpy(p, h, 4, (cudaMemcpyKind)9));
  SHOW(cudaMemcpy(p, h, 4, cudaMemcpyDefault));
  SHOW(cudaMemcpy(h, h + 4, 4, cudaMemcpyDefault));
  SHOW(cudaMemcpy(0, h, 4, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(p, 0, 4, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(p, 0, 0, cudaMemcpyHostToDevice));
  SHOW(cudaMemset(p, 0, 4096));
  SHOW(cudaMemset(h, 0, 4));
  SHOW(cudaMalloc(&p, 0));
  SHOW(p != 0);
  SHOW(cudaMalloc((void**)&p, (size_t)1 << 60));
  SHOW(cudaMalloc(nullptr, 4));
  SHOW(cudaMemcpyToSymbol(h, h, 4));
  SHOW(cudaMemcpyToSymbol(device_words, h, 65));
  SHOW(cudaMemcpyToSymbol(device_words, h, 64));
  SHOW(cudaMemcpyToSymbol(device_words, h, 4, 61));
  SHOW(cudaGetSymbolAddress(&q, h));
  SHOW(cudaGetSymbolAddress(&q, managed_word));
  SHOW(q == &managed_word);
  SHOW(cudaGetSymbolSize(&bytes, constants));
  SHOW(bytes);
  SHOW(managed_word);
  SHOW(cudaFreeHost(h));
  SHOW(cudaFreeHost(0));
  SHOW(cudaMallocPitch(&q, &pitch, 100, 3));
  SHOW(pitch);
  SHOW(cudaMallocPitch(&q, &pitch, 600, 3));
  SHOW(pitch);
  SHOW(cudaMemcpy2D(q, pitch, h, 100, 200, 2, cudaMemcpyHostToDevice));
  SHOW(cudaHostRegister(h, 256, 0));
  SHOW(cudaHostRegister(h, 256, 0));
  SHOW(cudaHostUnregister(h));
  SHOW(cudaHostUnregister(h));
}

static void pointers() {
  int *p, h[4];
  void* q;
  cudaPointerAttributes a;
  SHOW(cudaPointerGetAttributes(&a, h));
  SHOW(a.type);
  SHOW(a.device);
  SHOW(a.devicePointer != 0);
  SHOW(a.hostPointer == h);
  cudaMalloc(&p, 64);
  SHOW(cudaPointerGetAttributes(&a, p + 2));
  SHOW(a.type);
  SHOW(a.device);
  SHOW(a.devicePointer == p + 2);
  SHOW(a.hostPointer != 0);
  cudaMallocHost(&q, 64);
  SHOW(cudaPointerGetAttributes(&a, q));
  SHOW(a.type);
  SHOW(a.devicePointer == q);
  SHOW(a.hostPointer == q);
  cudaMallocManaged(&q, 64);
  SHOW(cudaPointerGetAttributes(&a, q));
  SHOW(a.type);
  SHOW(a.devicePointer == q);
  SHOW(a.hostPointer == q);
  SHOW(cudaPointerGetAttributes(&a, 0));
  SHOW(a.type);
  SHOW(a.device);
}

static void events() {
  cudaEvent_t a, b, untimed;
  cudaStream_t s;
  float ms;
  int priority;
  unsigned flags;
  int* p;
  cudaEventCreate(&a);
  cudaEventCreate(&b);
  cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming);
  SHOW(cudaEventElapsedTime(&ms, a, b));
  SHOW(cudaEventRecord(a));
  SHOW(cudaEventElapsedTime(&ms, a, b));
  SHOW(cudaEventQuery(b));
  SHOW(cudaEventSynchronize(b));
  SHOW(cudaEventRecord(b));
  SHOW(cudaEventSynchronize(b));
  SHOW(cudaEventElapsedTime(&ms, a, b));
  SHOW(ms >= 0);
  SHOW(cudaEventRecord(untimed));
  SHOW(cudaEventSynchronize(untimed));
  SHOW(cudaEventElapsedTime(&ms, a, untimed));
  SHOW(cudaEventElapsedTime(&ms, 0, b));
  SHOW(cudaEventDestroy(a));
  SHOW(cudaEventDestroy(0));
  SHOW(cudaStreamCreateWithFlags(&s, 7));
  SHOW(cudaStreamCreateWithPriority(&s, 0, -99));
  SHOW(cudaStreamGetPriority(s, &priority));
  SHOW(priority);
  SHOW(cudaStreamGetFlags(s, &flags));
  SHOW(flags);
  SHOW(cudaStreamDestroy(s));
  SHOW(cudaStreamDestroy(0));
  SHOW(cudaStreamQuery(0));
  SHOW(cudaStreamWaitEvent(0, b, 0));
  SHOW(cudaStreamWaitEvent(0, 0, 0));
  cudaGetLastError();
  plain<<<1, 1025>>>(0);
  SHOW(cudaDeviceSynchronize());
  SHOW(cudaGetLastError());
  cudaMalloc(nullptr, 4);
  SHOW(cudaMalloc(&p, 4));
  SHOW(cudaGetLastError());
}

static void occupancy() {
  for (int threads = 32; threads <= 1024; threads += 96) {
    int blocks;
    SHOW(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, static_shared, threads, 0));
    SHOW(blocks);
    SHOW(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, threads, 5000));
    SHOW(blocks);
  }
  size_t bytes;
  int grid, block;
  SHOW(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, plain, 2, 256));
  SHOW(bytes);
  SHOW(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, static_shared, 2, 256));
  SHOW(bytes);
  SHOW(cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain, 0, 0));
  SHOW(grid);
  SHOW(block);
  cudaFuncAttributes a;
  SHOW(cudaFuncGetAttributes(&a, static_shared));
  SHOW(a.sharedSizeBytes);
  SHOW(a.maxThreadsPerBlock);
  SHOW(a.numRegs);
  SHOW(a.maxDynamicSharedSizeBytes);
  SHOW(a.preferredShmemCarveout);
  SHOW(a.ptxVersion);
  SHOW(a.binaryVersion);
  SHOW(cudaFuncGetAttributes(&a, bounded));
  SHOW(a.maxThreadsPerBlock);
  SHOW(a.numRegs);
  SHOW(cudaFuncGetAttributes(&a, (void*)occupancy));
}

int main(int count, char** words) {
  const char* name = count > 1 ? words[1] : "";
  setvbuf(stdout, nullptr, _IOLBF, 1024);
  if (!strcmp(name, "attributes")) attributes();
  if (!strcmp(name, "launches")) launches();
  if (!strcmp(name, "out_of_bounds")) fault(out_of_bounds);
  if (!strcmp(name, "trapping")) fault(trapping);
  if (!strcmp(name, "misaligned")) fault(misaligned);
  if (!strcmp(name, "memory")) memory();
  if (!strcmp(name, "pointers")) pointers();
  if (!strcmp(name, "events")) events();
  if (!strcmp(name, "occupancy")) occupancy();
}
