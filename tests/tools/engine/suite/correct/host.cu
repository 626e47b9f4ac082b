// What the host orders: streams, events, copies, memory of every kind, launches one after another.
#include <algorithm>

#include "../suite.cuh"

using suite::Array;

__global__ void add_kernel(int* x, int n, int v) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] += v;
}
__global__ void combine_kernel(const int* a, const int* b, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a[i] * 3 - b[i];
}

// Two streams fork from a third and join it again.
CASE(streams_fork_and_join) {
  cudaStream_t main, left, right;
  cudaStreamCreateWithFlags(&main, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&left, cudaStreamNonBlocking);
  cudaStreamCreateWithPriority(&right, cudaStreamNonBlocking, 0);
  cudaEvent_t forked, first, second;
  cudaEventCreateWithFlags(&forked, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&first, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&second, cudaEventDisableTiming);
  {
    const Array<int> a(500), b(500), y(500);
    cudaDeviceSynchronize();
    cudaMemsetAsync(a, 0, 2000, main);
    cudaMemsetAsync(b, 0, 2000, main);
    cudaEventRecord(forked, main);
    cudaStreamWaitEvent(left, forked, 0);
    cudaStreamWaitEvent(right, forked, 0);
    add_kernel<<<2, 128, 0, left>>>(a, 500, 7);
    add_kernel<<<3, 64, 0, right>>>(b, 500, 5);
    cudaEventRecord(first, left);
    cudaEventRecord(second, right);
    cudaStreamWaitEvent(main, first, 0);
    cudaStreamWaitEvent(main, second, 0);
    combine_kernel<<<4, 128, 0, main>>>(a, b, y, 500);
    cudaStreamSynchronize(main);
    y.show("y");
  }
  for (cudaStream_t s : {main, left, right}) cudaStreamDestroy(s);
  for (cudaEvent_t e : {forked, first, second}) cudaEventDestroy(e);
}

// The default stream waits for ordinary streams, and they for it.
CASE(default_stream_orders_the_others) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  const Array<int> a(300, 0), b(300, 0), y(300);
  add_kernel<<<2, 128, 0, stream>>>(a, 300, 4);
  add_kernel<<<2, 128>>>(a, 300, 4);
  cudaMemcpyAsync(b, a, 1200, cudaMemcpyDeviceToDevice, stream);
  combine_kernel<<<3, 128, 0, stream>>>(a, b, y, 300);
  cudaStreamSynchronize(stream);
  y.show("y");
  cudaStreamDestroy(stream);
}

// Fills, copies and kernels in one stream, each over the result of the one before.
CASE(fills_copies_and_kernels_in_order) {
  const Array<int> a(256), b(256);
  std::vector<int> half(128, 9);
  cudaMemset(a, 1, 1024);
  add_kernel<<<1, 64>>>(a, 256, 2);
  cudaMemcpy(b, a, 1024, cudaMemcpyDeviceToDevice);
  cudaMemcpy(a.get() + 128, half.data(), 512, cudaMemcpyHostToDevice);
  cudaMemset(b.get() + 10, 0, 40);
  combine_kernel<<<2, 128>>>(a, b, a, 256);
  a.show("a");
}

// Managed memory is written by the host, changed by the device, read by the host.
CASE(managed_memory) {
  int* x;
  cudaMallocManaged(&x, 400);
  for (int i = 0; i < 100; ++i) x[i] = i;
  add_kernel<<<1, 64>>>(x, 100, 1000);
  cudaDeviceSynchronize();
  for (int i = 0; i < 100; i += 3) x[i] *= 2;
  add_kernel<<<1, 64>>>(x, 100, 1);
  cudaDeviceSynchronize();
  suite::show("x", x, 400);
  cudaFree(x);
}
__managed__ int shared_total = 3;
__global__ void total_kernel() { atomicAdd(&shared_total, static_cast<int>(threadIdx.x)); }
CASE(managed_variable) {
  shared_total = 10;
  total_kernel<<<2, 32>>>();
  cudaDeviceSynchronize();
  std::printf("total %d\n", shared_total);
}

// Pinned memory that the device reads and writes in place.
CASE(pinned_memory_in_place) {
  int *host, *device;
  cudaHostAlloc(&host, 256, cudaHostAllocMapped);
  for (int i = 0; i < 64; ++i) host[i] = i * i;
  cudaHostGetDevicePointer(&device, host, 0);
  add_kernel<<<1, 64>>>(device, 64, -5);
  cudaDeviceSynchronize();
  suite::show("host", host, 256);
  cudaFreeHost(host);
}

// Rows with a pitch: the padding is nobody's.
__global__ void pitched_kernel(float* rows, size_t pitch, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) {
    float* row = reinterpret_cast<float*>(reinterpret_cast<char*>(rows) + y * pitch);
    row[x] = row[x] * 2 + y;
  }
}
CASE(rows_with_a_pitch) {
  const auto host = suite::whole<float>(50 * 20, 100);
  std::vector<float> got(50 * 20);
  float* rows;
  size_t pitch;
  cudaMallocPitch(&rows, &pitch, 200, 20);
  cudaMemcpy2D(rows, pitch, host.data(), 200, 200, 20, cudaMemcpyHostToDevice);
  pitched_kernel<<<dim3(4, 3), dim3(16, 8)>>>(rows, pitch, 50, 20);
  cudaMemcpy2D(got.data(), 200, rows, pitch, 200, 20, cudaMemcpyDeviceToHost);
  suite::show("rows", got.data(), got.size() * 4);
  cudaFree(rows);
}

// Memory ordered by a stream: given back and taken again without waiting.
CASE(memory_ordered_by_a_stream) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  std::vector<int> sums;
  for (int round = 0; round < 3; ++round) {
    int *a, *b;
    cudaMallocAsync(&a, 800, stream);
    cudaMemsetAsync(a, round, 800, stream);
    cudaMallocAsync(&b, 800, stream);
    cudaMemcpyAsync(b, a, 800, cudaMemcpyDeviceToDevice, stream);
    add_kernel<<<2, 64, 0, stream>>>(b, 200, 3);
    std::vector<int> got(200);
    cudaMemcpyAsync(got.data(), b, 800, cudaMemcpyDeviceToHost, stream);
    cudaFreeAsync(a, stream);
    cudaFreeAsync(b, stream);
    cudaStreamSynchronize(stream);
    sums.push_back(got[7] + got[199]);
  }
  suite::show("sums", sums.data(), sums.size() * 4);
  cudaStreamDestroy(stream);
}

// A workspace stays from launch to launch; each launch uses what the last one left.
__global__ void accumulate_kernel(int* workspace, int* y, int round) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  const int* from = workspace + round % 2 * n;
  int* to = workspace + (round + 1) % 2 * n;
  const int v = (round ? from[n - 1 - i] : i) * 3 + round;
  to[i] = v;
  y[i] = v;
}
CASE(workspace_over_many_launches) {
  const Array<int> workspace(2 * 192), y(192);
  for (int round = 0; round < 20; ++round) accumulate_kernel<<<3, 64>>>(workspace, y, round);
  y.show("y");
}

// Nothing to do: empty copies and fills, kernels whose threads all leave.
CASE(work_of_size_zero) {
  const Array<int> x(8, 0);
  cudaMemset(x, 1, 0);
  cudaMemcpy(x, x.get() + 1, 0, cudaMemcpyDeviceToDevice);
  add_kernel<<<1, 32>>>(x, 0, 5);
  add_kernel<<<1, 1>>>(x, 1, 5);
  cudaMemcpy2D(x, 4, x.get() + 4, 4, 0, 3, cudaMemcpyDeviceToDevice);
  x.show("x");
}

// The host takes part in the order of a stream.
static void on_host(void* data) { *static_cast<int*>(data) += 100; }
CASE(host_function_in_a_stream) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  int value = 5, *x;
  cudaMalloc(&x, 4);
  cudaMemcpyAsync(x, &value, 4, cudaMemcpyHostToDevice, stream);
  add_kernel<<<1, 1, 0, stream>>>(x, 1, 7);
  cudaMemcpyAsync(&value, x, 4, cudaMemcpyDeviceToHost, stream);
  cudaLaunchHostFunc(stream, on_host, &value);
  cudaStreamSynchronize(stream);
  std::printf("value %d\n", value);
  cudaFree(x);
  cudaStreamDestroy(stream);
}

// Errors that a program expects and goes on after.
CASE(errors_that_are_expected) {
  const Array<int> x(64, 0);
  int blocks = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add_kernel, 128, 0);
  std::printf("occupancy %d\n", blocks > 0);
  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, x.get());
  std::printf("device memory %d\n", attributes.type == cudaMemoryTypeDevice);
  std::printf("ready %d\n", cudaStreamQuery(nullptr) == cudaSuccess || cudaGetLastError() == cudaErrorNotReady);
  cudaDeviceSynchronize();
  add_kernel<<<1, 64>>>(x, 64, 1);
  x.show("x");
}
