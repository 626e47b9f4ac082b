// cudaDeviceProp, filled from the device table.
#include <cstddef>
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
    {&cudaDeviceProp::maxTexture1DMipmap, cudaDevAttrMaxTexture1DMipmappedWidth},
    {&cudaDeviceProp::maxTextureCubemap, cudaDevAttrMaxTextureCubemapWidth},
    {&cudaDeviceProp::maxSurfaceCubemap, cudaDevAttrMaxSurfaceCubemapWidth},
    {&cudaDeviceProp::tccDriver, cudaDevAttrTccDriver},
    {&cudaDeviceProp::sparseCudaArraySupported, cudaDevAttrSparseCudaArraySupported},
    {&cudaDeviceProp::timelineSemaphoreInteropSupported, cudaDevAttrTimelineSemaphoreInteropSupported},
    {&cudaDeviceProp::gpuDirectRDMASupported, cudaDevAttrGPUDirectRDMASupported},
    {&cudaDeviceProp::gpuDirectRDMAWritesOrdering, cudaDevAttrGPUDirectRDMAWritesOrdering},
    {&cudaDeviceProp::deferredMappingCudaArraySupported, cudaDevAttrDeferredMappingCudaArraySupported},
    {&cudaDeviceProp::unifiedFunctionPointers, CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS},
    {&cudaDeviceProp::ipcEventSupported, cudaDevAttrIpcEventSupport},
};

struct ListField {
  size_t offset;  // of an element of an array in cudaDeviceProp
  int attribute;
};
#define ELEMENT(field, index) offsetof(cudaDeviceProp, field) + (index) * sizeof(int)
constexpr ListField elements[] = {
    {ELEMENT(maxTexture2D, 0), cudaDevAttrMaxTexture2DWidth},
    {ELEMENT(maxTexture2D, 1), cudaDevAttrMaxTexture2DHeight},
    {ELEMENT(maxTexture2DMipmap, 0), cudaDevAttrMaxTexture2DMipmappedWidth},
    {ELEMENT(maxTexture2DMipmap, 1), cudaDevAttrMaxTexture2DMipmappedHeight},
    {ELEMENT(maxTexture2DLinear, 0), cudaDevAttrMaxTexture2DLinearWidth},
    {ELEMENT(maxTexture2DLinear, 1), cudaDevAttrMaxTexture2DLinearHeight},
    {ELEMENT(maxTexture2DLinear, 2), cudaDevAttrMaxTexture2DLinearPitch},
    {ELEMENT(maxTexture2DGather, 0), cudaDevAttrMaxTexture2DGatherWidth},
    {ELEMENT(maxTexture2DGather, 1), cudaDevAttrMaxTexture2DGatherHeight},
    {ELEMENT(maxTexture3D, 0), cudaDevAttrMaxTexture3DWidth},
    {ELEMENT(maxTexture3D, 1), cudaDevAttrMaxTexture3DHeight},
    {ELEMENT(maxTexture3D, 2), cudaDevAttrMaxTexture3DDepth},
    {ELEMENT(maxTexture3DAlt, 0), cudaDevAttrMaxTexture3DWidthAlt},
    {ELEMENT(maxTexture3DAlt, 1), cudaDevAttrMaxTexture3DHeightAlt},
    {ELEMENT(maxTexture3DAlt, 2), cudaDevAttrMaxTexture3DDepthAlt},
    {ELEMENT(maxTexture1DLayered, 0), cudaDevAttrMaxTexture1DLayeredWidth},
    {ELEMENT(maxTexture1DLayered, 1), cudaDevAttrMaxTexture1DLayeredLayers},
    {ELEMENT(maxTexture2DLayered, 0), cudaDevAttrMaxTexture2DLayeredWidth},
    {ELEMENT(maxTexture2DLayered, 1), cudaDevAttrMaxTexture2DLayeredHeight},
    {ELEMENT(maxTexture2DLayered, 2), cudaDevAttrMaxTexture2DLayeredLayers},
    {ELEMENT(maxTextureCubemapLayered, 0), cudaDevAttrMaxTextureCubemapLayeredWidth},
    {ELEMENT(maxTextureCubemapLayered, 1), cudaDevAttrMaxTextureCubemapLayeredLayers},
    {ELEMENT(maxSurface2D, 0), cudaDevAttrMaxSurface2DWidth},
    {ELEMENT(maxSurface2D, 1), cudaDevAttrMaxSurface2DHeight},
    {ELEMENT(maxSurface3D, 0), cudaDevAttrMaxSurface3DWidth},
    {ELEMENT(maxSurface3D, 1), cudaDevAttrMaxSurface3DHeight},
    {ELEMENT(maxSurface3D, 2), cudaDevAttrMaxSurface3DDepth},
    {ELEMENT(maxSurface1DLayered, 0), cudaDevAttrMaxSurface1DLayeredWidth},
    {ELEMENT(maxSurface1DLayered, 1), cudaDevAttrMaxSurface1DLayeredLayers},
    {ELEMENT(maxSurface2DLayered, 0), cudaDevAttrMaxSurface2DLayeredWidth},
    {ELEMENT(maxSurface2DLayered, 1), cudaDevAttrMaxSurface2DLayeredHeight},
    {ELEMENT(maxSurface2DLayered, 2), cudaDevAttrMaxSurface2DLayeredLayers},
    {ELEMENT(maxSurfaceCubemapLayered, 0), cudaDevAttrMaxSurfaceCubemapLayeredWidth},
    {ELEMENT(maxSurfaceCubemapLayered, 1), cudaDevAttrMaxSurfaceCubemapLayeredLayers},
    {ELEMENT(gpuDirectRDMAFlushWritesOptions, 0), cudaDevAttrGPUDirectRDMAFlushWritesOptions},
    {ELEMENT(memoryPoolSupportedHandleTypes, 0), cudaDevAttrMemoryPoolSupportedHandleTypes},
};
#undef ELEMENT

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
  for (auto& [offset, id] : elements) {
    const int value = attribute(id);
    std::memcpy(reinterpret_cast<char*>(properties) + offset, &value, sizeof value);
  }
  for (auto& [field, id] : sizes) properties->*field = static_cast<size_t>(attribute(id));
  properties->totalGlobalMem = backend().total_bytes();
  for (int axis = 0; axis < 3; axis++) {
    properties->maxThreadsDim[axis] = attribute(cudaDevAttrMaxBlockDimX + axis);
    properties->maxGridSize[axis] = attribute(cudaDevAttrMaxGridDimX + axis);
  }
  return cudaSuccess;
}
