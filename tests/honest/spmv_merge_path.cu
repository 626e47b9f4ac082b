// problem: spmv
// technique: merge path: equal shares of rows and entries a thread, carries by atomics
#include <cuda_runtime.h>
constexpr int SHARE = 16;
__global__ void spmv(const int* offsets, const int* columns, const float* values, const float* x, float* y, int rows) {
    const int count = offsets[rows], total = rows + count;
    for (int first = (blockIdx.x * blockDim.x + threadIdx.x) * SHARE; first < total; first += gridDim.x * blockDim.x * SHARE) {
        int low = max(0, first - count), high = min(first, rows);
        while (low < high) {
            const int middle = (low + high) / 2;
            if (offsets[middle + 1] <= first - middle - 1) low = middle + 1;
            else high = middle;
        }
        int row = low, entry = first - low;
        float sum = 0;
        for (int step = 0; step < SHARE && row < rows; ++step) {
            if (entry < offsets[row + 1]) {
                sum += values[entry] * x[columns[entry]], ++entry;
            } else {
                atomicAdd(&y[row], sum);
                sum = 0, ++row;
            }
        }
        if (row < rows && sum != 0) atomicAdd(&y[row], sum);
    }
}
extern "C" int solve(const int* offsets, const int* columns, const float* values, const float* x, float* y, int rows, cudaStream_t stream) {
    cudaMemsetAsync(y, 0, rows * sizeof(float), stream);
    spmv<<<8, 64, 0, stream>>>(offsets, columns, values, x, y, rows);
    return 0;
}
