// kind: library instead of kernel
// tries: hand PTX of its own to cudaLibraryLoadData, a kernel that is not in the source's module
// trust: native
// replayed: passed/contract_violation/unavailable |
#include <cuda_runtime.h>
static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) {\n"
    ".reg .pred p; .reg .b32 %r<5>; .reg .b64 x, y, z, o; .reg .f32 f, g;\n ld.param.u64 x, [a]; ld.param.u64 y, [b]; ld.param.u64 z, [c]; ld.param.u32 %r1, [n];\n"
    "mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %ctaid.x; mad.lo.s32 %r2, %r4, %r3, %r2; setp.ge.s32 p, %r2, %r1; @p bra DONE;\n"
    "mul.wide.s32 o, %r2, 4; add.s64 x, x, o; add.s64 y, y, o; add.s64 z, z, o; ld.global.f32 f, [x]; ld.global.f32 g, [y]; add.f32 f, f, g; st.global.f32 [z], f;\nDONE: ret; }\n";
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    static cudaLibrary_t library;
    static cudaKernel_t kernel;
    if (!library && cudaLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0)) return 1;
    if (!kernel && cudaLibraryGetKernel(&kernel, library, "add")) return 2;
    void* arguments[] = {&a, &b, &out, &n};
    return cudaLaunchKernel(reinterpret_cast<void*>(kernel), dim3((n + 255) / 256), dim3(256), arguments, 0, stream);
}
