#include <cub/cub.cuh>
#include <cuda/std/functional>
template <class T> void all(T* a, T* b, int* n, int* off, void* t, size_t s, int count) {
  cub::DeviceRadixSort::SortKeys(t, s, a, b, count);
  cub::DeviceRadixSort::SortPairsDescending(t, s, a, b, n, n, count);
  cub::DeviceScan::ExclusiveSum(t, s, a, b, count);
  cub::DeviceScan::InclusiveScan(t, s, a, b, ::cuda::maximum<>{}, count);
  cub::DeviceReduce::Sum(t, s, a, b, count);
  cub::DeviceReduce::ArgMin(t, s, a, (cub::KeyValuePair<int, T>*)b, count);
  cub::DeviceReduce::ReduceByKey(t, s, n, n, a, b, n, ::cuda::std::plus<>{}, count);
  cub::DeviceSelect::If(t, s, a, b, n, count, [] __device__(T x) { return x > T(3); });
  cub::DeviceSelect::Unique(t, s, a, b, n, count);
  cub::DeviceSelect::Flagged(t, s, a, n, b, n, count);
  cub::DevicePartition::Flagged(t, s, a, n, b, n, count);
  cub::DeviceHistogram::HistogramEven(t, s, a, n, 65, T(0), T(64), count);
  cub::DeviceRunLengthEncode::Encode(t, s, a, b, n, n, count);
  cub::DeviceSegmentedReduce::Sum(t, s, a, b, 10, off, off + 1);
  cub::DeviceSegmentedSort::SortKeys(t, s, a, b, count, 10, off, off + 1);
  cub::DeviceSegmentedRadixSort::SortKeys(t, s, a, b, count, 10, off, off + 1);
  cub::DeviceMergeSort::SortKeys(t, s, a, count, ::cuda::std::less<>{});
  cub::DeviceAdjacentDifference::SubtractLeftCopy(t, s, a, b, count);
  cub::DeviceFor::ForEachN(a, count, [] __device__(T& x) { x = x + T(1); });
}
int main() {
  all<int>(0, 0, 0, 0, 0, 0, 0);
  all<double>(0, 0, 0, 0, 0, 0, 0);
}
