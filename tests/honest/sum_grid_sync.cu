// problem: reduction
// technique: a cooperative launch and grid.sync, sized by the occupancy query
#include <algorithm>
#include <cooperative_groups.h>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;
__global__ void sum(const float* x, float* out, float* partial, int n) {
    const auto grid = cg::this_grid();
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    float value = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) value += x[i];
    for (int d = 16; d; d /= 2) value += warp.shfl_down(value, d);
    if (warp.thread_rank() == 0) partial[grid.thread_rank() / 32] = value;
    grid.sync();
    if (grid.thread_rank() == 0) {
        float total = 0;
        for (int i = 0; i < grid.size() / 32; ++i) total += partial[i];
        *out = total;
    }
}
extern "C" size_t workspace_bytes(long) { return 4 * 8 * sizeof(float); }
extern "C" int solve(const float* x, float* out, int n, float* workspace, size_t, cudaStream_t stream) {
    int per_sm = 0;
    if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, sum, 128, 0) || per_sm < 1) return 1;
    void* arguments[] = {&x, &out, &workspace, &n};
    return cudaLaunchCooperativeKernel(reinterpret_cast<void*>(&sum), dim3(std::min(8, 8 * per_sm)), dim3(128), arguments, 0, stream);
}
