// Before the kernels, on both sides: operations that C++ leaves undefined or open in some cases, closed.
#ifndef HOST
#define lower_of(a, b) low_of(a, b)
#define upper_of(a, b) high_of(a, b)
__device__ inline float low_of(float a, float b) { return fminf(a, b); }
__device__ inline double low_of(double a, double b) { return fmin(a, b); }
__device__ inline float high_of(float a, float b) { return fmaxf(a, b); }
__device__ inline double high_of(double a, double b) { return fmax(a, b); }
#endif
typedef unsigned u32;
typedef unsigned long long u64;
// A NaN has no bits that both sides agree on.
__device__ inline u32 bits(float f) { return f != f ? 0x7fffffffu : __float_as_uint(f); }
__device__ inline u64 bits(double d) { return d != d ? 0x7fffffffffffffffull : (u64)__double_as_longlong(d); }
__device__ inline float real(u32 u) { return __uint_as_float((u & 0x7f800000u) == 0x7f800000u ? u & 0xff8fffffu & ~0x40000000u : u); }
__device__ inline double real(u64 u) { return __longlong_as_double((long long)((u >> 52 & 2047) == 2047 ? u & ~(1ull << 62) : u)); }
__device__ inline u32 whole(float f) { return f >= 0.0f && f < 4294967040.0f ? (u32)f : 7u; }
__device__ inline int signed_whole(float f) { return f > -2147483520.0f && f < 2147483520.0f ? (int)f : -7; }
__device__ inline u64 whole(double d) { return d >= 0.0 && d < 1.8e19 ? (u64)d : 7ull; }
__device__ inline int signed_whole(double d) { return d > -2147483648.0 && d < 2147483647.0 ? (int)d : -7; }
__device__ inline int plus(int a, int b) { return (int)((u32)a + (u32)b); }
__device__ inline int minus(int a, int b) { return (int)((u32)a - (u32)b); }
__device__ inline int times(int a, int b) { return (int)((u32)a * (u32)b); }
__device__ inline int quotient(int a, int b) { return a / ((b & 0xffff) + 1); }
__device__ inline int rest(int a, int b) { return a % ((b & 0xffff) + 1); }
__device__ inline u32 mixed(u32 h, u32 v) { return (h ^ v) * 0x9e3779b1u + (h >> 15); }
#define BLOCK 96
#define ALL 0xffffffffu
