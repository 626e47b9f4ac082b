// The toolkit's own formula (cuda_occupancy.h) for the kernels and shapes on standard input: registers, static, dynamic, threads, largest block.
#include <cuda_runtime_api.h>
#include <cuda_occupancy.h>

#include <cstdio>

int main() {
  int registers, shared, dynamic, threads, most;
  while (std::scanf("%d %d %d %d %d", &registers, &shared, &dynamic, &threads, &most) == 5) {
    cudaOccDeviceProp device;
    device.computeMajor = 9, device.computeMinor = 0;
    device.maxThreadsPerBlock = 1024, device.maxThreadsPerMultiprocessor = 2048;
    device.regsPerBlock = device.regsPerMultiprocessor = 65536;
    device.warpSize = 32, device.numSms = 132;
    device.sharedMemPerBlock = 49152, device.sharedMemPerMultiprocessor = 233472;
    device.sharedMemPerBlockOptin = 232448, device.reservedSharedMemPerBlock = 1024;
    cudaOccFuncAttributes function;
    function.maxThreadsPerBlock = most, function.numRegs = registers, function.sharedSizeBytes = shared;
    function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    function.maxDynamicSharedSizeBytes = 232448 - shared;
    cudaOccDeviceState state;
    cudaOccResult result;
    const int error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads, dynamic);
    std::printf("%d\n", error ? -error : result.activeBlocksPerMultiprocessor);
  }
}
