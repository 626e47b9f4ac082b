// cudaDeviceProp, filled from the device table.
#include <cstring>

#include "api.hpp"
#include "backend.hpp"
#include "device.hpp"

using namespace cudanalyst;

CUDANALYST_API cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) { return {x, y, z, w, kind}; }
using device::attribute;

namespace {

struct IntegerField {
  int cudaDeviceProp::* field;
  int attribute;
};
constexpr IntegerField integers[] = {
    {&cudaDeviceProp::regsPerBlock, cudaDevAttrMaxRegistersPerBlock},
    {&cudaDeviceProp::warpSize, cudaDevAttrWarpSize},
    {&cudaDeviceProp::maxThreadsPerBlock, cudaDevAttrMaxThreadsPerBlock},
    {&cudaDeviceProp::major, cudaDevAttrComputeCapabilityMajor},
    {&cudaDeviceProp::minor, cudaDevAttrComputeCapabilityMinor},
    {&cudaDeviceProp::multiProcessorCount, cudaDevAttrMultiProcessorCount},
    {&cudaDeviceProp::integrated, cudaDevAttrIntegrated},
    {&cudaDeviceProp::canMapHostMemory, cudaDevAttrCanMapHostMemory},
    {&cudaDeviceProp::concurrentKernels, cudaDevAttrConcurrentKernels},
    {&cudaDeviceProp::ECCEnabled, cudaDevAttrEccEnabled},
    {&cudaDeviceProp::pciBusID, cudaDevAttrPciBusId},
    {&cudaDeviceProp::pciDeviceID, cudaDevAttrPciDeviceId},
    {&cudaDeviceProp::pciDomainID, cudaDevAttrPciDomainId},
    {&cudaDeviceProp::asyncEngineCount, cudaDevAttrAsyncEngineCount},
    {&cudaDeviceProp::unifiedAddressing, cudaDevAttrUnifiedAddressing},
    {&cudaDeviceProp::memoryBusWidth, cudaDevAttrGlobalMemoryBusWidth},
    {&cudaDeviceProp::l2CacheSize, cudaDevAttrL2CacheSize},
    {&cudaDeviceProp::persistingL2CacheMaxSize, cudaDevAttrMaxPersistingL2CacheSize},
    {&cudaDeviceProp::maxThreadsPerMultiProcessor, cudaDevAttrMaxThreadsPerMultiProcessor},
    {&cudaDeviceProp::streamPrioritiesSupported, cudaDevAttrStreamPrioritiesSupported},
    {&cudaDeviceProp::globalL1CacheSupported, cudaDevAttrGlobalL1CacheSupported},
    {&cudaDeviceProp::localL1CacheSupported, cudaDevAttrLocalL1CacheSupported},
    {&cudaDeviceProp::regsPerMultiprocessor, cudaDevAttrMaxRegistersPerMultiprocessor},
    {&cudaDeviceProp::managedMemory, cudaDevAttrManagedMemory},
    {&cudaDeviceProp::isMultiGpuBoard, cudaDevAttrIsMultiGpuBoard},
    {&cudaDeviceProp::multiGpuBoardGroupID, cudaDevAttrMultiGpuBoardGroupID},
    {&cudaDeviceProp::hostNativeAtomicSupported, cudaDevAttrHostNativeAtomicSupported},
    {&cudaDeviceProp::pageableMemoryAccess, cudaDevAttrPageableMemoryAccess},
    {&cudaDeviceProp::concurrentManagedAccess, cudaDevAttrConcurrentManagedAccess},
    {&cudaDeviceProp::computePreemptionSupported, cudaDevAttrComputePreemptionSupported},
    {&cudaDeviceProp::canUseHostPointerForRegisteredMem, cudaDevAttrCanUseHostPointerForRegisteredMem},
    {&cudaDeviceProp::cooperativeLaunch, cudaDevAttrCooperativeLaunch},
    {&cudaDeviceProp::pageableMemoryAccessUsesHostPageTables, cudaDevAttrPageableMemoryAccessUsesHostPageTables},
    {&cudaDeviceProp::directManagedMemAccessFromHost, cudaDevAttrDirectManagedMemAccessFromHost},
    {&cudaDeviceProp::maxBlocksPerMultiProcessor, cudaDevAttrMaxBlocksPerMultiprocessor},
    {&cudaDeviceProp::accessPolicyMaxWindowSize, cudaDevAttrMaxAccessPolicyWindowSize},
    {&cudaDeviceProp::hostRegisterSupported, cudaDevAttrHostRegisterSupported},
    {&cudaDeviceProp::hostRegisterReadOnlySupported, cudaDevAttrHostRegisterReadOnlySupported},
    {&cudaDeviceProp::memoryPoolsSupported, cudaDevAttrMemoryPoolsSupported},
    {&cudaDeviceProp::clusterLaunch, cudaDevAttrClusterLaunch},
    {&cudaDeviceProp::maxTexture1D, cudaDevAttrMaxTexture1DWidth},
    {&cudaDeviceProp::maxSurface1D, cudaDevAttrMaxSurface1DWidth},
};

struct SizeField {
  size_t cudaDeviceProp::* field;
  int attribute;
};
constexpr SizeField sizes[] = {
    {&cudaDeviceProp::sharedMemPerBlock, cudaDevAttrMaxSharedMemoryPerBlock},
    {&cudaDeviceProp::memPitch, cudaDevAttrMaxPitch},
    {&cudaDeviceProp::totalConstMem, cudaDevAttrTotalConstantMemory},
    {&cudaDeviceProp::textureAlignment, cudaDevAttrTextureAlignment},
    {&cudaDeviceProp::texturePitchAlignment, cudaDevAttrTexturePitchAlignment},
    {&cudaDeviceProp::surfaceAlignment, cudaDevAttrSurfaceAlignment},
    {&cudaDeviceProp::sharedMemPerMultiprocessor, cudaDevAttrMaxSharedMemoryPerMultiprocessor},
    {&cudaDeviceProp::sharedMemPerBlockOptin, cudaDevAttrMaxSharedMemoryPerBlockOptin},
    {&cudaDeviceProp::reservedSharedMemPerBlock, cudaDevAttrReservedSharedMemoryPerBlock},
};

}  // namespace

CUDANALYST_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  Guard guard(api_mutex());
  if (!properties) return finish(invalid_value);
  if (device) return finish(cudaErrorInvalidDevice);
  *properties = {};
  std::strncpy(properties->name, device::name().c_str(), sizeof properties->name - 1);
  std::memcpy(properties->uuid.bytes, "cudanalyst-cpu-0", sizeof properties->uuid.bytes);
  for (auto& [field, id] : integers) properties->*field = attribute(id);
  for (auto& [field, id] : sizes) properties->*field = static_cast<size_t>(attribute(id));
  properties->totalGlobalMem = backend().total_bytes();
  for (int axis = 0; axis < 3; axis++) {
    properties->maxThreadsDim[axis] = attribute(cudaDevAttrMaxBlockDimX + axis);
    properties->maxGridSize[axis] = attribute(cudaDevAttrMaxGridDimX + axis);
  }
  return cudaSuccess;
}
