// The driver API: what the executor needs and programs seldom use. Kernels of a module, plane copies and fills, names for findings.
#include <cudaProfiler.h>

#include "copy.hpp"
#include "errors.hpp"
#include "modules.hpp"

using namespace cudanalyst;

namespace {

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

int of_module(CUmodule handle, Image*& image) {
  image = modules::find(handle);
  return image ? image->load() : static_cast<int>(CUDA_ERROR_INVALID_HANDLE);
}

int enumerate(CUfunction* functions, unsigned count, Image& image) {
  unsigned filled = 0;
  for (const std::string& symbol : kernel_symbols(*image.module)) {
    if (filled == count) break;
    int error = success;
    Function* function = image.function(symbol, error);
    if (!function) return error;
    functions[filled++] = reinterpret_cast<CUfunction>(function);
  }
  return success;
}

// One side of a plane copy: where its first byte lies. Arrays are not known here.
const void* side(CUmemorytype type, const void* host, CUdeviceptr device, size_t x, size_t y, size_t pitch) {
  const auto* base = static_cast<const char*>(type == CU_MEMORYTYPE_HOST ? host : pointer(device));
  return base + y * pitch + x;
}

CUresult copy_plane(const char* caller, bool blocking, const CUDA_MEMCPY2D* from, CUstream stream) {
  return driver_call([&]() -> int {
    if (!from) return invalid_value;
    const CUDA_MEMCPY2D& plane = *from;
    if (plane.srcMemoryType == CU_MEMORYTYPE_ARRAY || plane.dstMemoryType == CU_MEMORYTYPE_ARRAY)
      return unsupported("function", "copies of CUDA arrays", "the CPU engine has no arrays and textures; use linear memory");
    const size_t to_pitch = plane.dstPitch ? plane.dstPitch : plane.WidthInBytes, from_pitch = plane.srcPitch ? plane.srcPitch : plane.WidthInBytes;
    return copy({.caller = caller,
                 .blocking = blocking,
                 .to = const_cast<void*>(side(plane.dstMemoryType, plane.dstHost, plane.dstDevice, plane.dstXInBytes, plane.dstY, to_pitch)),
                 .from = side(plane.srcMemoryType, plane.srcHost, plane.srcDevice, plane.srcXInBytes, plane.srcY, from_pitch),
                 .row_bytes = plane.WidthInBytes,
                 .rows = plane.Height,
                 .to_pitch = to_pitch,
                 .from_pitch = from_pitch,
                 .kind = cudaMemcpyDefault,
                 .stream = stream});
  });
}

CUresult fill_plane(const char* caller, CUdeviceptr to, size_t pitch, uint32_t pattern, unsigned element, size_t width, size_t rows,
                    CUstream stream) {
  return driver_call([&] {
    return fill({.caller = caller,
                 .to = pointer(to),
                 .pattern = pattern,
                 .element_bytes = element,
                 .row_elements = width,
                 .rows = rows,
                 .pitch = pitch,
                 .stream = stream});
  });
}

}  // namespace

CUDANALYST_API CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule handle) {
  return driver_call([&]() -> int {
    Image* image = nullptr;
    if (int error = of_module(handle, image)) return error;
    if (!count) return invalid_value;
    *count = static_cast<unsigned>(kernel_symbols(*image->module).size());
    return success;
  });
}
CUDANALYST_API CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule handle) {
  return driver_call([&]() -> int {
    Image* image = nullptr;
    if (int error = of_module(handle, image)) return error;
    return enumerate(functions, count, *image);
  });
}
CUDANALYST_API CUresult cuMemcpy2D(const CUDA_MEMCPY2D* plane) { return copy_plane("cuMemcpy2D", true, plane, nullptr); }
CUDANALYST_API CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* plane) { return copy_plane("cuMemcpy2DUnaligned", true, plane, nullptr); }
CUDANALYST_API CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* plane, CUstream stream) { return copy_plane("cuMemcpy2DAsync", false, plane, stream); }

CUDANALYST_API CUresult cuMemsetD2D16(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t rows) {
  return fill_plane("cuMemsetD2D16", to, pitch, value, 2, width, rows, nullptr);
}
CUDANALYST_API CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t rows, CUstream stream) {
  return fill_plane("cuMemsetD2D8Async", to, pitch, value, 1, width, rows, stream);
}
CUDANALYST_API CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t rows, CUstream stream) {
  return fill_plane("cuMemsetD2D16Async", to, pitch, value, 2, width, rows, stream);
}
CUDANALYST_API CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t rows, CUstream stream) {
  return fill_plane("cuMemsetD2D32Async", to, pitch, value, 4, width, rows, stream);
}

CUDANALYST_API CUresult cuProfilerStart() {
  return driver_call([] { return 0; });
}
CUDANALYST_API CUresult cuProfilerStop() {
  return driver_call([] { return 0; });
}

// Not CUDA's: findings and faults then say the name of what they touch.
CUDANALYST_API void cudanalyst_name_allocation(CUdeviceptr address, const char* name) {
  Guard guard(api_mutex());
  memory::rename(address, name);
}
