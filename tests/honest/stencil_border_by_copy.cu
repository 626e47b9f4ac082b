// problem: stencil2d
// technique: the border by copies on a forked stream, the inside by a kernel
#include <cuda_runtime.h>
__global__ void inside(const float* x, float* out, int rows, int cols, float alpha) {
    const int r = blockIdx.y + 1, c = blockIdx.x * blockDim.x + threadIdx.x + 1, i = r * cols + c;
    if (c < cols - 1) out[i] = x[i] + alpha * (x[i - cols] + x[i + cols] + x[i - 1] + x[i + 1] - 4 * x[i]);
}
extern "C" int solve(const float* x, float* out, int rows, int cols, float alpha, cudaStream_t stream) {
    thread_local cudaStream_t side = nullptr;
    thread_local cudaEvent_t event = nullptr;
    if (!side && (cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking) || cudaEventCreateWithFlags(&event, cudaEventDisableTiming))) return 1;
    cudaEventRecord(event, stream);
    cudaStreamWaitEvent(side, event, 0);
    const size_t pitch = cols * sizeof(float), last_row = static_cast<size_t>(rows - 1) * cols;
    cudaMemcpyAsync(out, x, pitch, cudaMemcpyDeviceToDevice, side);
    cudaMemcpyAsync(out + last_row, x + last_row, pitch, cudaMemcpyDefault, side);
    cudaMemcpy2DAsync(out, pitch, x, pitch, sizeof(float), rows, cudaMemcpyDeviceToDevice, side);
    cudaMemcpy2DAsync(out + cols - 1, pitch, x + cols - 1, pitch, sizeof(float), rows, cudaMemcpyDeviceToDevice, side);
    if (rows > 2 && cols > 2) inside<<<dim3((cols - 2 + 63) / 64, rows - 2), 64, 0, stream>>>(x, out, rows, cols, alpha);
    cudaEventRecord(event, side);
    cudaStreamWaitEvent(stream, event, 0);
    return 0;
}
