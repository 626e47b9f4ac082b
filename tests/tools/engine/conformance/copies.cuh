// Copies and fills: kinds against places, shapes, and what they move.
#pragma once
#include "answers.cuh"

struct Places {
  char host[4096] = {}, *device = device_array<char>(4096), *pinned = nullptr, *managed = nullptr;
  Places() { cudaMallocHost(&pinned, 4096), cudaMallocManaged(&managed, 4096); }
  std::pair<const char*, char*> at(int number) {
    switch (number) {
      case 0: return {"host", host};
      case 1: return {"pinned", pinned};
      case 2: return {"device", device};
      case 3: return {"managed", managed};
      default: return {"null", nullptr};
    }
  }
};

// Every kind with every pair of places.
template <typename Copy>
static void kinds(Copy copy) {
  Places places;
  for (int kind = 0; kind < 6; kind++)
    for (int to = 0; to < 5; to++)
      for (int from = 0; from < 5; from++) {
        std::printf("kind %d to %s from %s: ", kind, places.at(to).first, places.at(from).first);
        std::fflush(stdout);
        const int code = copy(places.at(to).second, places.at(from).second, static_cast<cudaMemcpyKind>(kind));
        std::printf("%d, last error %d\n", code, cudaGetLastError());
      }
}

CASE(copy_kinds) {
  kinds([](char* to, char* from, cudaMemcpyKind kind) { return cudaMemcpy(to, from, 16, kind); });
}
CASE(copy_kinds_async) {
  kinds([](char* to, char* from, cudaMemcpyKind kind) { return cudaMemcpyAsync(to, from, 16, kind, nullptr); });
}
CASE(copy_kinds_of_nothing) {
  kinds([](char* to, char* from, cudaMemcpyKind kind) { return cudaMemcpy(to, from, 0, kind); });
}
CASE(copy_kinds_2d) {
  kinds([](char* to, char* from, cudaMemcpyKind kind) { return cudaMemcpy2D(to, 64, from, 32, 16, 2, kind); });
}
CASE(copy_kinds_3d) {
  kinds([](char* to, char* from, cudaMemcpyKind kind) {
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(from, 32, 32, 4);
    p.dstPtr = make_cudaPitchedPtr(to, 64, 64, 4);
    p.extent = make_cudaExtent(16, 2, 2);
    p.kind = kind;
    return cudaMemcpy3D(&p);
  });
}

CASE(copy_ranges) {
  int *p = device_array<int>(1 << 20), h[64] = {};
  CALL(cudaMemcpy(p, h, static_cast<size_t>(1) << 40, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(p, p + 1024, static_cast<size_t>(1) << 40, cudaMemcpyDeviceToDevice));
  CALL(cudaMemcpy(p, p, 64, cudaMemcpyDeviceToDevice));
  CALL(cudaMemcpy(p, p + 1, 64, cudaMemcpyDeviceToDevice));
  CALL(cudaMemcpy(p + 1, reinterpret_cast<char*>(h) + 1, 3, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(h, h, 64, cudaMemcpyHostToHost));
  cudaFree(p);
  CALL(cudaMemcpy(h, p, 4, cudaMemcpyDeviceToHost));
  CALL(cudaMemcpy(p, h, 4, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(h, p, 0, cudaMemcpyDeviceToHost));
  CALL(cudaMemset(p, 0, 4));
  CALL(cudaMemcpyAsync(h, p, 4, cudaMemcpyDeviceToHost, nullptr));
  CALL(cudaMemcpyAsync(h, p, 4, cudaMemcpyDefault, nullptr));
}

CASE(copy_2d) {
  char *p = nullptr, h[4096] = {}, back[4096] = {};
  size_t pitch = 0;
  for (int i = 0; i < 4096; i++) h[i] = static_cast<char>(i % 127);
  cudaMallocPitch(&p, &pitch, 100, 8);
  CALL(cudaMemcpy2D(p, pitch, h, 100, 100, 8, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy2D(back, 50, p + 10, pitch, 50, 8, cudaMemcpyDeviceToHost));
  SHOW(back[51] == h[111]);
  CALL(cudaMemcpy2D(p, pitch, h, 100, 101, 8, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy2D(p, 99, h, 100, 100, 8, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy2D(p, 99, h, 99, 100, 1, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy2D(p, 0, h, 0, 100, 1, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy2D(p, 0, h, 0, 0, 0, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy2D(p, pitch, h, 100, 0, 8, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy2D(p, pitch, h, 100, 100, 0, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy2D(nullptr, pitch, h, 100, 0, 0, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy2D(nullptr, pitch, h, 100, 10, 1, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy2D(p, static_cast<size_t>(1) << 31, h, static_cast<size_t>(1) << 31, 10, 1, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy2D(p, static_cast<size_t>(1) << 32, h, 100, 10, 1, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy2D(p, pitch, h, 100, 10, 2, static_cast<cudaMemcpyKind>(9)));
  CALL(cudaMemcpy2DAsync(p, pitch, h, 100, 101, 8, cudaMemcpyHostToDevice, nullptr));
  CALL(cudaMemcpy2DAsync(p, pitch, h, 100, 100, 8, cudaMemcpyHostToDevice, nullptr));
  CALL(cudaMemcpy2DAsync(p, pitch, p, pitch, 100, 8, cudaMemcpyDeviceToDevice, nullptr));
  CALL(cudaMemcpy2D(p, pitch, h, 100, 100, static_cast<size_t>(1) << 40, cudaMemcpyHostToDevice));
}

CASE(copy_3d) {
  int h[4][3][5], back[4][3][5] = {};
  for (int i = 0; i < 60; i++) (&h[0][0][0])[i] = i;
  cudaPitchedPtr d = {};
  CALL(cudaMalloc3D(&d, make_cudaExtent(20, 3, 4)));
  cudaMemcpy3DParms p = {};
  CALL(cudaMemcpy3D(&p));
  CALL(cudaMemcpy3D(nullptr));
  p.srcPtr = make_cudaPitchedPtr(h, 20, 20, 3);
  p.dstPtr = d;
  p.extent = make_cudaExtent(20, 3, 4);
  p.kind = cudaMemcpyHostToDevice;
  CALL(cudaMemcpy3D(&p));
  p.srcPtr = d;
  p.dstPtr = make_cudaPitchedPtr(back, 20, 20, 3);
  p.kind = cudaMemcpyDeviceToHost;
  p.srcPos = make_cudaPos(4, 1, 2);
  p.dstPos = make_cudaPos(8, 0, 1);
  p.extent = make_cudaExtent(8, 2, 2);
  CALL(cudaMemcpy3D(&p));
  SHOW(back[1][0][2]);
  SHOW(back[2][1][3]);
  SHOW(back[2][1][4]);
  CALL(cudaMemcpy3DAsync(&p, nullptr));
  p.extent = make_cudaExtent(0, 2, 2);
  CALL(cudaMemcpy3D(&p));
  p.extent = make_cudaExtent(8, 0, 2);
  CALL(cudaMemcpy3D(&p));
  p.extent = make_cudaExtent(8, 2, 0);
  CALL(cudaMemcpy3D(&p));
  p.extent = make_cudaExtent(30, 2, 2);
  p.srcPos = p.dstPos = make_cudaPos(0, 0, 0);
  CALL(cudaMemcpy3D(&p));
  p.extent = make_cudaExtent(8, 4, 2);
  CALL(cudaMemcpy3D(&p));
  p.extent = make_cudaExtent(8, 2, 2);
  p.srcPos = make_cudaPos(16, 0, 0);
  CALL(cudaMemcpy3D(&p));
  p.srcPos = make_cudaPos(0, 2, 0);
  CALL(cudaMemcpy3D(&p));
  p.srcPos = make_cudaPos(0, 0, 0);
  p.dstPtr.pitch = 4;
  CALL(cudaMemcpy3D(&p));
  p.dstPtr.pitch = 0;
  CALL(cudaMemcpy3D(&p));
  p.dstPtr = make_cudaPitchedPtr(back, 20, 20, 3);
  p.kind = static_cast<cudaMemcpyKind>(9);
  CALL(cudaMemcpy3D(&p));
  p.kind = cudaMemcpyDeviceToHost;
  p.srcPtr.ptr = nullptr;
  CALL(cudaMemcpy3D(&p));
}

CASE(copy_peer) {
  int *a = device_array<int>(), *b = device_array<int>(), h = 0;
  CALL(cudaMemcpyPeer(a, 0, b, 0, 64));
  CALL(cudaMemcpyPeer(a, 0, b, 99, 64));
  CALL(cudaMemcpyPeer(a, -1, b, 0, 64));
  CALL(cudaMemcpyPeer(a, 0, b, 99, 0));
  CALL(cudaMemcpyPeer(a, 0, &h, 0, 4));
  CALL(cudaMemcpyPeer(nullptr, 0, b, 0, 4));
  CALL(cudaMemcpyPeer(nullptr, 0, nullptr, 0, 0));
  CALL(cudaMemcpyPeerAsync(a, 0, b, 0, 64, nullptr));
  CALL(cudaMemcpyPeerAsync(a, 0, b, 99, 64, nullptr));
  cudaMemcpy3DPeerParms p = {};
  CALL(cudaMemcpy3DPeer(nullptr));
  p.srcPtr = make_cudaPitchedPtr(a, 16, 16, 4);
  p.dstPtr = make_cudaPitchedPtr(b, 16, 16, 4);
  p.extent = make_cudaExtent(16, 4, 1);
  CALL(cudaMemcpy3DPeer(&p));
  CALL(cudaMemcpy3DPeerAsync(&p, nullptr));
  p.srcDevice = 99;
  CALL(cudaMemcpy3DPeer(&p));
}

CASE(copy_batches) {
  char *a = device_array<char>(), *b = device_array<char>(), h[64] = "batch", back[64] = {};
  const void* from[2] = {h, h + 8};
  void* to[2] = {a, b};
  size_t sizes[2] = {8, 8}, first[1] = {0};
  cudaMemcpyAttributes attributes[1] = {};
  attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  cudaStream_t s;
  cudaStreamCreate(&s);
  CALL(cudaMemcpyBatchAsync(to, from, sizes, 2, attributes, first, 1, s));
  CALL(cudaStreamSynchronize(s));
  CALL(cudaMemcpy(back, a, 8, cudaMemcpyDeviceToHost));
  TEXT(back);
  CALL(cudaMemcpyBatchAsync(to, from, sizes, 0, attributes, first, 1, s));
  CALL(cudaMemcpyBatchAsync(to, from, sizes, 2, attributes, first, 0, s));
  CALL(cudaMemcpyBatchAsync(to, from, sizes, 2, attributes, first, 1, nullptr));
  CALL(cudaMemcpyBatchAsync(nullptr, from, sizes, 2, attributes, first, 1, s));
  sizes[1] = 0;
  CALL(cudaMemcpyBatchAsync(to, from, sizes, 2, attributes, first, 1, s));
}

CASE(fill) {
  char *p = device_array<char>(4096), h[64], back[64] = {}, *m = nullptr, *q = nullptr;
  cudaMallocManaged(&m, 64);
  cudaMallocHost(&q, 64);
  CALL(cudaMemset(p, 0x1234, 64));
  CALL(cudaMemcpy(back, p, 64, cudaMemcpyDeviceToHost));
  SHOW(back[63]);
  CALL(cudaMemset(p, -1, 1));
  CALL(cudaMemset(p + 3, 5, 7));
  CALL(cudaMemset(p, 0, 0));
  CALL(cudaMemset(nullptr, 0, 0));
  CALL(cudaMemset(nullptr, 0, 4));
  CALL(cudaMemset(h, 0, 4));
  CALL(cudaMemset(h, 0, 0));
  CALL(cudaMemset(q, 3, 4));
  CALL(cudaMemset(m, 4, 4));
  CALL(cudaMemsetAsync(m, 4, 4, nullptr));
  CALL(cudaDeviceSynchronize());
  SHOW(q[3]);
  SHOW(m[3]);
  CALL(cudaMemset(p, 0, static_cast<size_t>(1) << 40));
  CALL(cudaMemsetAsync(p, 0, static_cast<size_t>(1) << 40, nullptr));
  CALL(cudaMemset2D(p, 64, 1, 32, 4));
  CALL(cudaMemset2D(p, 16, 1, 32, 4));
  CALL(cudaMemset2D(p, 16, 1, 32, 1));
  CALL(cudaMemset2D(p, 0, 1, 32, 1));
  CALL(cudaMemset2D(p, 64, 1, 0, 4));
  CALL(cudaMemset2D(p, 64, 1, 32, 0));
  CALL(cudaMemset2D(nullptr, 64, 1, 0, 0));
  CALL(cudaMemset2D(nullptr, 64, 1, 1, 1));
  CALL(cudaMemset2D(p, static_cast<size_t>(1) << 33, 1, 32, 1));
  CALL(cudaMemset2D(h, 64, 1, 1, 1));
  CALL(cudaMemset2DAsync(p, 16, 1, 32, 4, nullptr));
  cudaPitchedPtr pitched = make_cudaPitchedPtr(p, 64, 64, 8);
  CALL(cudaMemset3D(pitched, 2, make_cudaExtent(64, 8, 2)));
  CALL(cudaMemset3D(pitched, 2, make_cudaExtent(65, 8, 2)));
  CALL(cudaMemset3D(pitched, 2, make_cudaExtent(64, 9, 2)));
  CALL(cudaMemset3D(pitched, 2, make_cudaExtent(0, 8, 2)));
  CALL(cudaMemset3D(pitched, 2, make_cudaExtent(64, 0, 2)));
  CALL(cudaMemset3D(pitched, 2, make_cudaExtent(64, 8, 0)));
  CALL(cudaMemset3DAsync(pitched, 2, make_cudaExtent(64, 8, 2), nullptr));
  pitched.ptr = nullptr;
  CALL(cudaMemset3D(pitched, 2, make_cudaExtent(64, 8, 2)));
}
