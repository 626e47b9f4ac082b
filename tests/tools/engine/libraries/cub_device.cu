// CUB's device-wide algorithms over types, odd sizes, in place and with operators of our own. Long to compile.
#include <cub/cub.cuh>

#include "check.cuh"

struct Pair {
  int key, value;
  __host__ __device__ bool operator==(const Pair& o) const { return key == o.key && value == o.value; }
};
struct Larger {
  template <typename T>
  __host__ __device__ T operator()(const T& a, const T& b) const { return b > a ? b : a; }
};
struct Less {
  template <typename T>
  __host__ __device__ bool operator()(const T& a, const T& b) const { return a < b; }
};
struct ByKey {
  __host__ __device__ bool operator()(const Pair& a, const Pair& b) const { return a.key < b.key; }
};
struct Odd {
  template <typename T>
  __host__ __device__ bool operator()(const T& x) const { return static_cast<long long>(x) & 1; }
};
struct Double {
  template <typename T>
  __host__ __device__ T operator()(const T& x) const { return x + x; }
};
struct AddOne {
  template <typename T>
  __device__ void operator()(T& x) const { x = x + 1; }
};
struct AddIndex {
  int* at;
  __device__ void operator()(int i) const { at[i] += i; }
};

template <typename T>
void reductions(const char* type, size_t n) {
  const auto v = numbers<T>(n);
  const int count = static_cast<int>(n);
  Device<T> in(v), one(1);
  std::printf("%s\n", type);
  T sum = 0;
  for (T x : v) sum += x;
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceReduce::Sum(t, b, in.at, one.at, count); });
  verdict("sum", n, one.get()[0] == sum);
  if (n) {
    in_two_steps([&](void* t, size_t& b) { return cub::DeviceReduce::Max(t, b, in.at, one.at, count); });
    verdict("max", n, one.get()[0] == *std::max_element(v.begin(), v.end()));
    in_two_steps([&](void* t, size_t& b) { return cub::DeviceReduce::Min(t, b, in.at, one.at, count); });
    verdict("min", n, one.get()[0] == *std::min_element(v.begin(), v.end()));
    Device<cub::KeyValuePair<int, T>> where(1);
    in_two_steps([&](void* t, size_t& b) { return cub::DeviceReduce::ArgMin(t, b, in.at, where.at, count); });
    const auto found = where.get()[0];
    verdict("argmin", n, found.key == std::min_element(v.begin(), v.end()) - v.begin() && found.value == v[found.key]);
  }
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceReduce::Reduce(t, b, in.at, one.at, count, Larger{}, T(7)); });
  T most = 7;
  for (T x : v) most = std::max(most, x);
  verdict("reduce", n, one.get()[0] == most);
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceReduce::TransformReduce(t, b, in.at, one.at, count, Larger{}, Double{}, T(1)); });
  most = 1;
  for (T x : v) most = std::max<T>(most, x + x);
  verdict("transform_reduce", n, one.get()[0] == most);
}

template <typename T>
void scans(const char* type, size_t n) {
  const auto v = numbers<T>(n, 1000);
  const int count = static_cast<int>(n);
  Device<T> in(v), out(n);
  std::vector<T> want(n);
  std::printf("%s\n", type);
  std::exclusive_scan(v.begin(), v.end(), want.begin(), T(0));
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceScan::ExclusiveSum(t, b, in.at, out.at, count); });
  verdict("exclusive_sum", n, out.get() == want);
  std::inclusive_scan(v.begin(), v.end(), want.begin());
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceScan::InclusiveSum(t, b, in.at, out.at, count); });
  verdict("inclusive_sum", n, out.get() == want);
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceScan::InclusiveScan(t, b, in.at, out.at, Larger{}, count); });
  std::inclusive_scan(v.begin(), v.end(), want.begin(), Larger{});
  verdict("inclusive_scan", n, out.get() == want);
  size_t bytes = 0;  // in place, and only once: the second run would scan the result
  cub::DeviceScan::ExclusiveScan(nullptr, bytes, in.at, in.at, Larger{}, T(5), count);
  Device<char> temporary(bytes);
  cub::DeviceScan::ExclusiveScan(temporary.at, bytes, in.at, in.at, Larger{}, T(5), count);
  std::exclusive_scan(v.begin(), v.end(), want.begin(), T(5), Larger{});
  verdict("exclusive_scan in place", n, in.get() == want);
}

void by_key(size_t n) {
  auto keys = numbers<int>(n, 5), values = numbers<int>(n, 100);
  std::sort(keys.begin(), keys.end());
  const int count = static_cast<int>(n);
  Device<int> dk(keys), dv(values), out(n), unique(n), runs(1);
  std::vector<int> want(n), want_keys, want_sums;
  for (size_t i = 0; i < n; i++) {
    const bool first = !i || keys[i] != keys[i - 1];
    want[i] = (first ? 0 : want[i - 1]) + values[i];
    if (first) want_keys.push_back(keys[i]), want_sums.push_back(0);
    want_sums.back() += values[i];
  }
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceScan::InclusiveSumByKey(t, b, dk.at, dv.at, out.at, count); });
  verdict("scan_by_key", n, out.get() == want);
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceReduce::ReduceByKey(t, b, dk.at, unique.at, dv.at, out.at, runs.at, cuda::std::plus<>{}, count); });
  const size_t found = runs.get()[0];
  verdict("reduce_by_key", n, found == want_keys.size() && unique.get(found) == want_keys && out.get(found) == want_sums);
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceRunLengthEncode::Encode(t, b, dk.at, unique.at, out.at, runs.at, count); });
  verdict("run_length", n, runs.get()[0] == static_cast<int>(want_keys.size()) && unique.get(want_keys.size()) == want_keys);
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceSelect::Unique(t, b, dk.at, out.at, runs.at, count); });
  verdict("unique", n, runs.get()[0] == static_cast<int>(want_keys.size()) && out.get(want_keys.size()) == want_keys);
}

template <typename T>
void radix_sorts(const char* type, size_t n) {
  const auto v = numbers<T>(n);
  const auto labels = numbers<int>(n);
  const int count = static_cast<int>(n);
  Device<T> in(v), out(n);
  Device<int> dl(labels), sorted(n);
  std::printf("%s\n", type);
  auto want = v;
  std::sort(want.begin(), want.end());
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceRadixSort::SortKeys(t, b, in.at, out.at, count); });
  verdict("sort", n, out.get() == want);
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceRadixSort::SortPairs(t, b, in.at, out.at, dl.at, sorted.at, count); });
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return v[a] < v[b]; });
  std::vector<int> want_labels(n);
  for (size_t i = 0; i < n; i++) want_labels[i] = labels[order[i]];
  verdict("sort_pairs", n, out.get() == want && sorted.get() == want_labels);
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceRadixSort::SortKeysDescending(t, b, in.at, out.at, count); });
  std::reverse(want.begin(), want.end());
  verdict("sort_descending", n, out.get() == want);
}

void merge_sorts(size_t n) {
  const auto v = numbers<int>(n, 1000);
  std::vector<Pair> pairs(n);
  for (size_t i = 0; i < n; i++) pairs[i] = {v[i], static_cast<int>(i)};
  Device<Pair> in(pairs);
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceMergeSort::StableSortKeys(t, b, in.at, static_cast<int>(n), ByKey{}); });
  std::stable_sort(pairs.begin(), pairs.end(), ByKey{});
  verdict("merge_sort", n, in.get() == pairs);
}

void segments(size_t n) {
  const auto v = numbers<int>(n, 5000);
  std::vector<int> offsets{0};
  for (size_t at = 0, step = 1; at < n; step = step * 2 % 301 + 1) offsets.push_back(static_cast<int>(at = std::min(n, at + step)));
  const int count = static_cast<int>(offsets.size()) - 1;
  Device<int> in(v), out(n), off(offsets), sums(count);
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceSegmentedReduce::Sum(t, b, in.at, sums.at, count, off.at, off.at + 1); });
  std::vector<int> want(count);
  for (int s = 0; s < count; s++) want[s] = std::accumulate(v.begin() + offsets[s], v.begin() + offsets[s + 1], 0);
  verdict("segmented_reduce", n, sums.get() == want);
  auto sorted = v;
  for (int s = 0; s < count; s++) std::sort(sorted.begin() + offsets[s], sorted.begin() + offsets[s + 1]);
  in_two_steps([&](void* t, size_t& b) {
    return cub::DeviceSegmentedRadixSort::SortKeys(t, b, in.at, out.at, static_cast<int>(n), count, off.at, off.at + 1);
  });
  verdict("segmented_radix_sort", n, out.get() == sorted);
  in_two_steps([&](void* t, size_t& b) {
    return cub::DeviceSegmentedSort::SortKeys(t, b, in.at, out.at, static_cast<int>(n), count, off.at, off.at + 1);
  });
  verdict("segmented_sort", n, out.get() == sorted);
}

void selections(size_t n) {
  const auto v = numbers<int>(n, 1000);
  const int count = static_cast<int>(n);
  std::vector<char> flags(n);
  for (size_t i = 0; i < n; i++) flags[i] = i % 3 == 0;
  Device<int> in(v), out(n), chosen(1);
  Device<char> df(flags);
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceSelect::Flagged(t, b, in.at, df.at, out.at, chosen.at, count); });
  std::vector<int> want;
  for (size_t i = 0; i < n; i++)
    if (flags[i]) want.push_back(v[i]);
  verdict("flagged", n, chosen.get()[0] == static_cast<int>(want.size()) && out.get(want.size()) == want);
  in_two_steps([&](void* t, size_t& b) { return cub::DevicePartition::If(t, b, in.at, out.at, chosen.at, count, Odd{}); });
  want.clear();
  std::copy_if(v.begin(), v.end(), std::back_inserter(want), Odd{});
  const size_t first = want.size();
  for (size_t i = n; i-- > 0;)
    if (!Odd{}(v[i])) want.push_back(v[i]);
  verdict("partition", n, chosen.get()[0] == static_cast<int>(first) && out.get() == want);
}

void histograms(size_t n) {
  const auto v = numbers<int>(n, 256);
  Device<int> in(v), bins(16);
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceHistogram::HistogramEven(t, b, in.at, bins.at, 17, -64, 192, static_cast<int>(n)); });
  std::vector<int> want(16);
  for (int x : v) want[(x + 64) / 16]++;
  verdict("histogram_even", n, bins.get() == want);
  const std::vector<int> levels{-64, -10, 0, 3, 100, 192};
  Device<int> dl(levels), ranges(5);
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceHistogram::HistogramRange(t, b, in.at, ranges.at, 6, dl.at, static_cast<int>(n)); });
  std::vector<int> want_ranges(5);
  for (int x : v) want_ranges[std::upper_bound(levels.begin(), levels.end(), x) - levels.begin() - 1]++;
  verdict("histogram_range", n, ranges.get() == want_ranges);
}

void others(size_t n) {
  auto v = numbers<int>(n, 1000);
  const int count = static_cast<int>(n);
  Device<int> in(v), out(n), more(v);
  size_t bytes = 0;
  cub::DeviceFor::ForEachN(in.at, count, AddOne{});
  auto want = v;
  for (int& x : want) x++;
  verdict("for_each", n, in.get() == want);
  cub::DeviceFor::Bulk(count, AddIndex{in.at});
  for (int i = 0; i < count; i++) want[i] += i;
  verdict("bulk", n, in.get() == want);
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceAdjacentDifference::SubtractLeftCopy(t, b, in.at, out.at, count); });
  std::vector<int> differences(n);
  std::adjacent_difference(want.begin(), want.end(), differences.begin());
  verdict("adjacent_difference", n, out.get() == differences);
  cub::DeviceTransform::Transform(in.at, out.at, count, Double{});
  for (int& x : want) x += x;
  verdict("transform", n, out.get() == want);
  auto a = numbers<int>(n), c = numbers<int>(n / 2);
  std::sort(a.begin(), a.end()), std::sort(c.begin(), c.end());
  Device<int> da(a), dc(c), merged(a.size() + c.size());
  in_two_steps([&](void* t, size_t& b) {
    return cub::DeviceMerge::MergeKeys(t, b, da.at, count, dc.at, static_cast<int>(c.size()), merged.at, Less{});
  });
  std::vector<int> both(merged.n);
  std::merge(a.begin(), a.end(), c.begin(), c.end(), both.begin());
  verdict("merge", n, merged.get() == both);
  (void)bytes;
}

void many_copies() {
  std::vector<int> v = numbers<int>(1000);
  Device<int> in(v), out(1000);
  std::vector<const void*> from;
  std::vector<void*> to;
  std::vector<size_t> sizes;
  for (int at = 0, size = 1; at < 1000; at += size, size = size * 3 % 97 + 1) {
    size = std::min(size, 1000 - at);
    from.push_back(in.at + at), to.push_back(out.at + at), sizes.push_back(size * sizeof(int));
  }
  Device<const void*> df(from);
  Device<void*> dt(to);
  Device<size_t> ds(sizes);
  in_two_steps([&](void* t, size_t& b) { return cub::DeviceMemcpy::Batched(t, b, df.at, dt.at, ds.at, static_cast<unsigned>(sizes.size())); });
  verdict("memcpy_batched", 1000, out.get() == v);
}

int main() {
  for (size_t n : {0, 1, 33, 5000}) {
    reductions<int>("int", n);
    reductions<double>("double", n);
    scans<int>("int", n);
    scans<long long>("long long", n);
    by_key(n);
    radix_sorts<int>("int", n);
    radix_sorts<unsigned char>("unsigned char", n);
    radix_sorts<double>("double", n);
    merge_sorts(n);
    if (n) segments(n);
    selections(n);
    histograms(n);
    others(n);
  }
  many_copies();
  return failures;
}
