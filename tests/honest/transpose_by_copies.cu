// problem: transpose
// technique: no kernel at all: a pitched device-to-device copy for each column
#include <cuda_runtime.h>
extern "C" int solve(const float* x, float* out, int rows, int cols, cudaStream_t stream) {
    for (int c = 0; c < cols; ++c)
        if (cudaMemcpy2DAsync(out + c * rows, sizeof(float), x + c, cols * sizeof(float), sizeof(float), rows, cudaMemcpyDeviceToDevice, stream)) return 1;
    return 0;
}
