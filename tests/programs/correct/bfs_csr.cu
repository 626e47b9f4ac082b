// expect: ok
#include <cstdio>
#include <queue>
#include <vector>
struct Graph { const int* offsets; const int* edges; int vertices; };

__global__ void expand(Graph g, const int* frontier, int count, int* level, int* next, int* next_count, int depth) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= count) return;
  int v = frontier[t];
  for (int e = g.offsets[v]; e < g.offsets[v + 1]; ++e) {
    int u = g.edges[e];
    if (atomicCAS(&level[u], -1, depth) == -1) next[atomicAdd(next_count, 1)] = u;
  }
}

int main() {
  const int n = 700;
  std::vector<int> off(n + 1), edge;
  for (int v = 0; v < n; ++v) {
    off[v] = edge.size();
    for (int k = 1; k <= v % 5 + 1; ++k) edge.push_back((v * k * 31 + 7 * k) % n);
  }
  off[n] = edge.size();
  std::vector<int> want(n, -1);
  std::queue<int> q;
  q.push(0); want[0] = 0;
  while (!q.empty()) {
    int v = q.front(); q.pop();
    for (int e = off[v]; e < off[v + 1]; ++e)
      if (want[edge[e]] < 0) { want[edge[e]] = want[v] + 1; q.push(edge[e]); }
  }
  int *d_off, *d_edge, *level, *a, *b, *count;
  cudaMalloc(&d_off, off.size() * 4); cudaMalloc(&d_edge, edge.size() * 4);
  cudaMalloc(&level, n * 4); cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4); cudaMalloc(&count, 4);
  cudaMemcpy(d_off, off.data(), off.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(d_edge, edge.data(), edge.size() * 4, cudaMemcpyHostToDevice);
  cudaMemset(level, 0xff, n * 4);
  int zero = 0, size = 1;
  cudaMemcpy(level, &zero, 4, cudaMemcpyHostToDevice);
  cudaMemcpy(a, &zero, 4, cudaMemcpyHostToDevice);
  Graph g{d_off, d_edge, n};
  for (int depth = 1; size > 0; ++depth) {
    cudaMemset(count, 0, 4);
    expand<<<(size + 127) / 128, 128>>>(g, a, size, level, b, count, depth);
    cudaMemcpy(&size, count, 4, cudaMemcpyDeviceToHost);
    int* t = a; a = b; b = t;
  }
  std::vector<int> got(n);
  cudaMemcpy(got.data(), level, n * 4, cudaMemcpyDeviceToHost);
  printf("%s\n", got == want ? "levels agree" : "LEVELS DIFFER");
  return got != want;
}
