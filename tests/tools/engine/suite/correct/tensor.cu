// Matrix instructions and packed arithmetic.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "../suite.cuh"

using suite::Array;
namespace wmma = nvcuda::wmma;

// A product with wmma over tiles in shared memory; small whole numbers, so that every order of sums is exact.
template <class T>
__global__ void wmma_kernel(const T* a, const T* b, float* c, int n) {
  __shared__ alignas(32) T left[16][24], right[16][24];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 1.0f);
  const int row = blockIdx.y * 16, column = blockIdx.x * 16;
  for (int k = 0; k < n; k += 16) {
    for (int i = threadIdx.x; i < 256; i += 32) {
      left[i / 16][i % 16] = a[(row + i / 16) * n + k + i % 16];
      right[i / 16][i % 16] = b[(column + i / 16) * n + k + i % 16];
    }
    __syncwarp();
    wmma::load_matrix_sync(fa, &left[0][0], 24);
    wmma::load_matrix_sync(fb, &right[0][0], 24);
    wmma::mma_sync(fc, fa, fb, fc);
    __syncwarp();
  }
  wmma::store_matrix_sync(c + row * n + column, fc, n, wmma::mem_row_major);
}
CASE(wmma_of_halves) {
  const Array<__half> a(suite::whole<__half>(48 * 48, 8)), b(suite::whole<__half>(48 * 48, 8, 5));
  const Array<float> c(48 * 48);
  wmma_kernel<__half><<<dim3(3, 3), 32>>>(a, b, c, 48);
  c.show("c");
}
CASE(wmma_of_bfloats) {
  const Array<__nv_bfloat16> a(suite::whole<__nv_bfloat16>(32 * 32, 8)), b(suite::whole<__nv_bfloat16>(32 * 32, 8, 5));
  const Array<float> c(32 * 32);
  wmma_kernel<__nv_bfloat16><<<dim3(2, 2), 32>>>(a, b, c, 32);
  c.show("c");
}

// ldmatrix from swizzled shared memory feeds mma.m16n8k16; several warps share the tiles.
__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__global__ void ldmatrix_kernel(const __half* a, const __half* b, float* c, int depth) {
  __shared__ alignas(16) __half left[16 * 64], right[32 * 64];  // rows of 64, eight chunks of 8 each, chunk ^ (row % 8)
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  float d[4] = {};
  for (int k = 0; k < depth; k += 64) {
    for (int i = t; i < 16 * 8; i += blockDim.x) {
      const int row = i / 8, chunk = i % 8;
      *reinterpret_cast<uint4*>(&left[row * 64 + (chunk ^ row % 8) * 8]) = *reinterpret_cast<const uint4*>(&a[row * depth + k + chunk * 8]);
    }
    for (int i = t; i < 32 * 8; i += blockDim.x) {
      const int row = i / 8, chunk = i % 8;
      *reinterpret_cast<uint4*>(&right[row * 64 + (chunk ^ row % 8) * 8]) = *reinterpret_cast<const uint4*>(&b[row * depth + k + chunk * 8]);
    }
    __syncthreads();
    for (int s = 0; s < 4; ++s) {
      unsigned fa[4], fb[2];
      const int row = lane % 16, chunk = s * 2 + lane / 16;
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                   : "r"(shared_address(&left[row * 64 + (chunk ^ row % 8) * 8])));
      const int column = warp * 8 + lane % 8, part = s * 2 + lane / 8 % 2;
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                   : "=r"(fb[0]), "=r"(fb[1])
                   : "r"(shared_address(&right[column * 64 + (part ^ column % 8) * 8])));
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                   : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
    }
    __syncthreads();
  }
  const int row = lane / 4, column = warp * 8 + lane % 4 * 2;
  *reinterpret_cast<float2*>(&c[row * 32 + column]) = make_float2(d[0], d[1]);
  *reinterpret_cast<float2*>(&c[(row + 8) * 32 + column]) = make_float2(d[2], d[3]);
}
CASE(ldmatrix_from_swizzled_tiles) {
  const Array<__half> a(suite::whole<__half>(16 * 128, 8)), b(suite::whole<__half>(32 * 128, 8, 5));
  const Array<float> c(16 * 32);
  ldmatrix_kernel<<<1, 128>>>(a, b, c, 128);
  c.show("c");
}

// tf32, doubles and bytes through mma.
__global__ void kinds_kernel(const float* x, float* tf, double* wide, int* bytes) {
  const int l = threadIdx.x;
  unsigned a[4], b[2];
  for (int k = 0; k < 4; ++k) a[k] = __float_as_uint(x[l * 4 + k]);
  for (int k = 0; k < 2; ++k) b[k] = __float_as_uint(x[128 + l * 2 + k]);
  float d[4] = {1, 2, 3, 4};
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  for (int k = 0; k < 4; ++k) tf[l * 4 + k] = d[k];
  double e[2] = {x[l], 0};
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
               : "+d"(e[0]), "+d"(e[1])
               : "d"(static_cast<double>(x[l])), "d"(static_cast<double>(x[l + 64])));
  wide[l * 2] = e[0], wide[l * 2 + 1] = e[1];
  int f[4] = {};
  const unsigned p = 0x01020304u * (l % 3 + 1), q = 0xff01fe02u + l;
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+r"(f[0]), "+r"(f[1]), "+r"(f[2]), "+r"(f[3])
               : "r"(p), "r"(q), "r"(p ^ q), "r"(p + q), "r"(q), "r"(p));
  for (int k = 0; k < 4; ++k) bytes[l * 4 + k] = f[k];
}
CASE(mma_of_tf32_doubles_and_bytes) {
  const Array<float> x(suite::whole<float>(192, 16)), tf(128);
  const Array<double> wide(64);
  const Array<int> bytes(128);
  kinds_kernel<<<1, 32>>>(x, tf, wide, bytes);
  tf.show("tf");
  wide.show("wide");
  bytes.show("bytes");
}

// Dot products of bytes, and sums of them over a warp.
__global__ void dots_kernel(const int* a, const int* b, int* y) {
  const int i = threadIdx.x;
  int sum = __dp4a(a[i], b[i], i);
  sum = __dp4a(static_cast<unsigned>(a[i]), static_cast<unsigned>(b[i]), static_cast<unsigned>(sum));
  sum = __dp2a_lo(a[i], b[i], sum) + __dp2a_hi(a[i], b[i], sum);
  y[i] = __reduce_add_sync(0xffffffffu, sum) + sum;
}
CASE(dot_products_of_bytes) {
  const Array<int> a(suite::numbers(64, 1u << 24)), b(suite::numbers(64, 1u << 24, 7)), y(64);
  dots_kernel<<<1, 64>>>(a, b, y);
  y.show("y");
}

// Halves and bfloats in pairs: arithmetic, comparison, atomics on pairs.
__global__ void pairs_kernel(const __half2* a, const __nv_bfloat162* b, __half2* y, __nv_bfloat162* z, __half2* sum) {
  const int i = threadIdx.x;
  __half2 v = __hfma2(a[i], a[31 - i], __float2half2_rn(0.5f));
  v = __hmax2(__hadd2(v, __lowhigh2highlow(v)), __hmul2(a[i], __float2half2_rn(-2.f)));
  y[i] = __hsub2(v, __hgt2(a[i], a[31 - i]));
  const __nv_bfloat162 w = __hfma2(b[i], b[31 - i], b[i]);
  z[i] = __hmin2(w, __hneg2(b[i]));
  atomicAdd(sum, a[i]);
}
CASE(halves_and_bfloats_in_pairs) {
  const Array<__half> a(suite::whole<__half>(64, 16)), y(64), sum(2, 0);
  const Array<__nv_bfloat16> b(suite::whole<__nv_bfloat16>(64, 16)), z(64);
  pairs_kernel<<<1, 32>>>(reinterpret_cast<const __half2*>(a.get()), reinterpret_cast<const __nv_bfloat162*>(b.get()), reinterpret_cast<__half2*>(y.get()),
                          reinterpret_cast<__nv_bfloat162*>(z.get()), reinterpret_cast<__half2*>(sum.get()));
  y.show("y");
  z.show("z");
  sum.show("sum");
}
