// expect: ok
#include <cstdint>
#include <cstdio>
#include <vector>
#include <cuda_fp16.h>
// C[16x8] = A[16xK] * B[Kx8], one warp, mma.m16n8k16 with operands from ldmatrix.
__device__ uint32_t smem_u32(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }
__global__ void mma_tile(const half* A, const half* B, float* C, int K) {
  __shared__ __align__(16) half sa[16][16 + 8];
  __shared__ __align__(16) half sb[16][8];
  int lane = threadIdx.x;
  float d[4] = {0, 0, 0, 0};
  for (int k0 = 0; k0 < K; k0 += 16) {
    for (int i = lane; i < 16 * 16; i += 32) sa[i / 16][i % 16] = A[i / 16 * K + k0 + i % 16];
    for (int i = lane; i < 16 * 8; i += 32) sb[i / 8][i % 8] = B[(k0 + i / 8) * 8 + i % 8];
    __syncwarp();
    uint32_t a[4], b[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(smem_u32(&sa[lane % 16][lane / 16 * 8])));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1]) : "r"(smem_u32(&sb[lane % 16][0])));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    __syncwarp();
  }
  int r = lane / 4, c = lane % 4 * 2;
  C[r * 8 + c] = d[0]; C[r * 8 + c + 1] = d[1];
  C[(r + 8) * 8 + c] = d[2]; C[(r + 8) * 8 + c + 1] = d[3];
}
int main() {
  const int K = 48;
  std::vector<half> a(16 * K), b(K * 8);
  for (int i = 0; i < 16 * K; i++) a[i] = __float2half((float)(i % 11) - 5);
  for (int i = 0; i < K * 8; i++) b[i] = __float2half((float)(i % 7) - 3);
  half *da, *db; float* dc;
  cudaMalloc(&da, a.size() * 2); cudaMalloc(&db, b.size() * 2); cudaMalloc(&dc, 16 * 8 * 4);
  cudaMemcpy(da, a.data(), a.size() * 2, cudaMemcpyHostToDevice); cudaMemcpy(db, b.data(), b.size() * 2, cudaMemcpyHostToDevice);
  mma_tile<<<1, 32>>>(da, db, dc, K);
  float c[128]; cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost);
  int bad = 0;
  for (int i = 0; i < 16; i++) for (int j = 0; j < 8; j++) { float s = 0; for (int k = 0; k < K; k++) s += __half2float(a[i * K + k]) * __half2float(b[k * 8 + j]); bad += s != c[i * 8 + j]; }
  printf("%s\n", bad ? "mismatch" : "match");
  return bad;
}
