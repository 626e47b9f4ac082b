// expect: ok
#include <cstdio>
#include <cstdint>
#include <map>
#include <vector>
struct KeyValue { uint32_t key, value; };
const uint32_t kCapacity = 2048, kEmpty = 0xffffffff;
__device__ uint32_t hash(uint32_t k) { k ^= k >> 16; k *= 0x85ebca6b; k ^= k >> 13; k *= 0xc2b2ae35; k ^= k >> 16; return k & (kCapacity - 1); }
__global__ void insert(KeyValue* table, const KeyValue* kvs, unsigned n) {
  unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n) {
    uint32_t key = kvs[t].key, slot = hash(key);
    while (true) {
      uint32_t prev = atomicCAS(&table[slot].key, kEmpty, key);
      if (prev == kEmpty || prev == key) { atomicAdd(&table[slot].value, kvs[t].value); return; }
      slot = (slot + 1) & (kCapacity - 1);
    }
  }
}
__global__ void lookup(const KeyValue* table, KeyValue* kvs, unsigned n) {
  unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n) {
    uint32_t slot = hash(kvs[t].key);
    for (;;) {
      if (table[slot].key == kvs[t].key) { kvs[t].value = table[slot].value; return; }
      if (table[slot].key == kEmpty) { kvs[t].value = kEmpty; return; }
      slot = (slot + 1) & (kCapacity - 1);
    }
  }
}
int main() {
  const unsigned n = 1000;
  std::vector<KeyValue> h(n), q, init(kCapacity, KeyValue{kEmpty, 0});
  std::map<uint32_t, uint32_t> want;
  for (unsigned i = 0; i < n; i++) { h[i] = {i * 17 % 601, i}; want[h[i].key] += i; }
  for (unsigned k = 0; k < 700; k++) q.push_back({k, 0});
  KeyValue *table, *d, *dq;
  cudaMalloc(&table, sizeof(KeyValue) * kCapacity);
  cudaMemcpy(table, init.data(), sizeof(KeyValue) * kCapacity, cudaMemcpyHostToDevice);
  cudaMalloc(&d, sizeof(KeyValue) * n); cudaMalloc(&dq, sizeof(KeyValue) * q.size());
  cudaMemcpy(d, h.data(), sizeof(KeyValue) * n, cudaMemcpyHostToDevice);
  cudaMemcpy(dq, q.data(), sizeof(KeyValue) * q.size(), cudaMemcpyHostToDevice);
  int grid, block;
  cudaOccupancyMaxPotentialBlockSize(&grid, &block, insert, 0, 0);
  insert<<<(n + block - 1) / block, block>>>(table, d, n);
  lookup<<<(q.size() + 127) / 128, 128>>>(table, dq, q.size());
  cudaMemcpy(q.data(), dq, sizeof(KeyValue) * q.size(), cudaMemcpyDeviceToHost);
  int bad = 0;
  for (auto& e : q) bad += e.value != (want.count(e.key) ? want[e.key] : kEmpty);
  printf("block %d: %d wrong lookups\n", block, bad);
  return bad != 0;
}
