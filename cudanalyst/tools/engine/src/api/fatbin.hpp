// NVIDIA's container for device code, as nvcc embeds it: which PTX to run, and what ptxas said of each kernel.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cudanalyst::fatbin {

struct Resources {
  int registers = 0;
  size_t shared_bytes = 0;
  int local_bytes = -1;  // not known
};

struct Contents {
  std::string_view ptx;                        // empty: none that this device can run
  int ptx_target = 0;                          // 90 for sm_90
  std::map<std::string, Resources> resources;  // of the device's own machine code, by kernel symbol
  std::string problem;                         // why there is no PTX, and what to do
};

// `data` starts at the container's header (not at nvcc's wrapper).
Contents read(const void* data, int device_architecture);
// Adds the kernels of an ELF image to the map.
void read_cubin(std::string_view image, std::map<std::string, Resources>& resources);
bool is_fatbin(const void* data);
bool is_elf(const void* data);
// nvcc's wrapper around a container: the container, and for relocatable code the separate objects' containers.
std::vector<const void*> unwrap(const void* wrapper);

}  // namespace cudanalyst::fatbin
