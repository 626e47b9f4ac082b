// Work in streams that nothing orders: kernels, copies, fills and stream-ordered memory.
#include "pair.cuh"

__global__ void produce(int* x) {
  x[threadIdx.x] = threadIdx.x;  // FAULT-OR streams_waw racecheck global_race_waw
}
struct Streams {
  cudaStream_t a, b;
  cudaEvent_t event;
  Streams() {
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  }
  void join() {  // b goes on after a
    cudaEventRecord(event, a);
    cudaStreamWaitEvent(b, event, 0);
  }
};

// A consumer in another stream than the producer.
__global__ void consume(const int* x, int* y) {
  y[threadIdx.x] = x[threadIdx.x];  // FAULT streams_raw racecheck global_race_raw
}
PAIR(streams_raw) {
  Streams s;
  int *x = zeros<int>(32), *y = zeros<int>(32);
  settle();
  produce<<<1, 32, 0, s.a>>>(x);
  if (right) s.join();
  consume<<<1, 32, 0, s.b>>>(x, y);
  settle();
}

// An input overwritten while another stream may still read it.
__global__ void read_slowly(const int* x, int* y) { y[threadIdx.x] = x[threadIdx.x] + 1; }
__global__ void overwrite(int* x) {
  x[threadIdx.x] = 5;  // FAULT streams_war racecheck global_race_war
}
PAIR(streams_war) {
  Streams s;
  int *x = zeros<int>(32), *y = zeros<int>(32);
  settle();
  read_slowly<<<1, 32, 0, s.a>>>(x, y);
  if (right) cudaStreamSynchronize(s.a);
  overwrite<<<1, 32, 0, s.b>>>(x);
  settle();
}

// Two streams write one output.
__global__ void produce_too(int* x) {
  x[threadIdx.x] = threadIdx.x + 1;  // FAULT-OR streams_waw racecheck global_race_waw
}
PAIR(streams_waw) {
  Streams s;
  int *x = zeros<int>(32), *y = zeros<int>(32);
  settle();
  produce<<<1, 32, 0, s.a>>>(x);
  produce_too<<<1, 32, 0, s.b>>>(right ? y : x);
  settle();
}

// The event is recorded before the work that it should stand for.
__global__ void late_reader(const int* x, int* y) {
  y[threadIdx.x] = x[threadIdx.x];  // FAULT event_too_early racecheck global_race_raw
}
PAIR(event_too_early) {
  Streams s;
  int *x = zeros<int>(32), *y = zeros<int>(32);
  settle();
  if (!right) cudaEventRecord(s.event, s.a);
  produce<<<1, 32, 0, s.a>>>(x);
  if (right) cudaEventRecord(s.event, s.a);
  cudaStreamWaitEvent(s.b, s.event, 0);
  late_reader<<<1, 32, 0, s.b>>>(x, y);
  settle();
}

// An upload in one stream, its reader in another.
__global__ void reads_upload(const int* x, int* y) {
  y[threadIdx.x] = x[threadIdx.x];  // FAULT upload_in_another_stream racecheck global_race_raw
}
PAIR(upload_in_another_stream) {
  Streams s;
  int *x = zeros<int>(32), *y = zeros<int>(32);
  int* on_host = nullptr;
  cudaMallocHost(&on_host, 128);
  for (int k = 0; k < 32; ++k) on_host[k] = k;
  settle();
  cudaMemcpyAsync(x, on_host, 128, cudaMemcpyHostToDevice, s.a);
  if (right) s.join();
  reads_upload<<<1, 32, 0, s.b>>>(x, y);
  settle();
}

// A fill of the next round's output that overtakes its reader.
PAIR(fill_overtakes) {
  Streams s;
  int *x = zeros<int>(32), *y = zeros<int>(32);
  settle();
  read_slowly<<<1, 32, 0, s.a>>>(x, y);
  if (right) s.join();
  cudaMemsetAsync(y, 0, 128, s.b);  // FAULT fill_overtakes racecheck global_race_waw
  settle();
}

// Stream-ordered memory used in another stream before it is there.
__global__ void first_use(int* x) {
  x[threadIdx.x] = 1;  // FAULT used_before_allocation memcheck use_before_allocation
}
PAIR(used_before_allocation) {
  Streams s;
  int* x = nullptr;
  cudaMallocAsync(&x, 128, s.a);
  if (right) s.join();
  first_use<<<1, 32, 0, s.b>>>(x);
  settle();
  cudaFree(x);
}

// Stream-ordered memory freed in one stream while another may still use it.
__global__ void last_use(int* x) { x[threadIdx.x] = 1; }
PAIR(freed_in_another_stream) {
  Streams s;
  int* x = nullptr;
  cudaMallocAsync(&x, 128, s.a);
  s.join();
  last_use<<<1, 32, 0, s.b>>>(x);
  if (right) cudaEventRecord(s.event, s.b), cudaStreamWaitEvent(s.a, s.event, 0);
  cudaFreeAsync(x, s.a);  // FAULT freed_in_another_stream memcheck use_after_free
  settle();
}
