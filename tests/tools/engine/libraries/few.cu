// A handful of device-wide algorithms: a radix sort, a scan, a reduction and a selection, with odd sizes.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <cub/device/device_reduce.cuh>

#include "check.cuh"

struct Odd {
  __host__ __device__ bool operator()(int x) const { return x & 1; }
};

int main() {
  for (size_t n : {0, 1, 31, 4099}) {
    const auto v = numbers<int>(n);
    Device<int> in(v), out(n), count(1), sum(1);
    in_two_steps([&](void* t, size_t& b) { return cub::DeviceReduce::Sum(t, b, in.at, sum.at, static_cast<int>(n)); });
    verdict("reduce", n, sum.get()[0] == std::accumulate(v.begin(), v.end(), 0));
    in_two_steps([&](void* t, size_t& b) { return cub::DeviceScan::ExclusiveSum(t, b, in.at, out.at, static_cast<int>(n)); });
    std::vector<int> want(n);
    std::exclusive_scan(v.begin(), v.end(), want.begin(), 0);
    verdict("scan", n, out.get() == want);
    in_two_steps([&](void* t, size_t& b) { return cub::DeviceSelect::If(t, b, in.at, out.at, count.at, static_cast<int>(n), Odd{}); });
    want.clear();
    std::copy_if(v.begin(), v.end(), std::back_inserter(want), Odd{});
    verdict("select", n, count.get()[0] == static_cast<int>(want.size()) && out.get(want.size()) == want);
    in_two_steps([&](void* t, size_t& b) { return cub::DeviceRadixSort::SortKeys(t, b, in.at, out.at, static_cast<int>(n)); });
    want = v;
    std::sort(want.begin(), want.end());
    verdict("sort", n, out.get() == want);
  }
  return failures;
}
