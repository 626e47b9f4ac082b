// Thrust's algorithms, containers, iterators and execution policies. Long to compile.
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/logical.h>
#include <thrust/merge.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/replace.h>
#include <thrust/reverse.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/tabulate.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/transform_scan.h>
#include <thrust/tuple.h>
#include <thrust/unique.h>
#include <thrust/universal_vector.h>

#include "check.cuh"

struct Odd {
  __host__ __device__ bool operator()(int x) const { return x & 1; }
};
struct Square {
  __host__ __device__ int operator()(int x) const { return x * x; }
};
struct Product {
  __host__ __device__ int operator()(const thrust::tuple<int, int>& t) const { return thrust::get<0>(t) * thrust::get<1>(t); }
};
struct Greater {
  __host__ __device__ bool operator()(int a, int b) const { return a > b; }
};

using Vector = thrust::device_vector<int>;
static std::vector<int> back(const Vector& v) {
  std::vector<int> h(v.size());
  thrust::copy(v.begin(), v.end(), h.begin());
  return h;
}

void sorting(size_t n) {
  auto h = numbers<int>(n, 500);
  const auto labels = numbers<int>(n);
  Vector v(h.begin(), h.end()), l(labels.begin(), labels.end());
  thrust::sort(v.begin(), v.end());
  auto want = h;
  std::sort(want.begin(), want.end());
  verdict("sort", n, back(v) == want);
  v.assign(h.begin(), h.end());
  thrust::sort(v.begin(), v.end(), Greater{});
  std::sort(want.begin(), want.end(), std::greater<>{});
  verdict("sort by an operator", n, back(v) == want);
  v.assign(h.begin(), h.end());
  thrust::stable_sort_by_key(v.begin(), v.end(), l.begin(), Greater{});
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return h[a] > h[b]; });
  std::vector<int> want_labels(n);
  for (size_t i = 0; i < n; i++) want_labels[i] = labels[order[i]];
  verdict("stable_sort_by_key", n, back(l) == want_labels);
  verdict("is_sorted", n, thrust::is_sorted(v.begin(), v.end(), Greater{}));
}

void reducing(size_t n) {
  const auto h = numbers<int>(n, 100);
  Vector v(h.begin(), h.end());
  verdict("reduce", n, thrust::reduce(v.begin(), v.end()) == std::accumulate(h.begin(), h.end(), 0));
  verdict("transform_reduce", n,
          thrust::transform_reduce(v.begin(), v.end(), Square{}, 0, thrust::plus<int>{}) == std::inner_product(h.begin(), h.end(), h.begin(), 0));
  verdict("inner_product", n, thrust::inner_product(v.begin(), v.end(), v.begin(), 5) == std::inner_product(h.begin(), h.end(), h.begin(), 5));
  verdict("count", n, thrust::count(v.begin(), v.end(), 3) == std::count(h.begin(), h.end(), 3));
  verdict("count_if", n, thrust::count_if(v.begin(), v.end(), Odd{}) == std::count_if(h.begin(), h.end(), Odd{}));
  verdict("any_of", n, thrust::any_of(v.begin(), v.end(), Odd{}) == std::any_of(h.begin(), h.end(), Odd{}));
  if (n) {
    verdict("max_element", n, thrust::max_element(v.begin(), v.end()) - v.begin() == std::max_element(h.begin(), h.end()) - h.begin());
    const auto both = thrust::minmax_element(v.begin(), v.end());
    verdict("minmax_element", n, *both.first == *std::min_element(h.begin(), h.end()) && *both.second == *std::max_element(h.begin(), h.end()));
  }
  auto keys = numbers<int>(n, 7);
  std::sort(keys.begin(), keys.end());
  Vector k(keys.begin(), keys.end()), out_keys(n), out_values(n);
  const auto ends = thrust::reduce_by_key(k.begin(), k.end(), v.begin(), out_keys.begin(), out_values.begin());
  std::vector<int> want_keys, want_sums;
  for (size_t i = 0; i < n; i++) {
    if (!i || keys[i] != keys[i - 1]) want_keys.push_back(keys[i]), want_sums.push_back(0);
    want_sums.back() += h[i];
  }
  out_keys.resize(ends.first - out_keys.begin());
  out_values.resize(ends.second - out_values.begin());
  verdict("reduce_by_key", n, back(out_keys) == want_keys && back(out_values) == want_sums);
}

void scanning(size_t n) {
  const auto h = numbers<int>(n, 100);
  Vector v(h.begin(), h.end()), out(n);
  std::vector<int> want(n);
  thrust::inclusive_scan(v.begin(), v.end(), out.begin());
  std::inclusive_scan(h.begin(), h.end(), want.begin());
  verdict("inclusive_scan", n, back(out) == want);
  thrust::exclusive_scan(v.begin(), v.end(), out.begin(), 11);
  std::exclusive_scan(h.begin(), h.end(), want.begin(), 11);
  verdict("exclusive_scan", n, back(out) == want);
  thrust::transform_inclusive_scan(v.begin(), v.end(), out.begin(), Square{}, thrust::plus<int>{});
  std::transform_inclusive_scan(h.begin(), h.end(), want.begin(), std::plus<>{}, Square{});
  verdict("transform_inclusive_scan", n, back(out) == want);
  auto keys = numbers<int>(n, 6);
  std::sort(keys.begin(), keys.end());
  Vector k(keys.begin(), keys.end());
  thrust::inclusive_scan_by_key(k.begin(), k.end(), v.begin(), out.begin());
  for (size_t i = 0; i < n; i++) want[i] = (i && keys[i] == keys[i - 1] ? want[i - 1] : 0) + h[i];
  verdict("inclusive_scan_by_key", n, back(out) == want);
  thrust::inclusive_scan(v.begin(), v.end(), v.begin(), thrust::maximum<int>{});
  std::inclusive_scan(h.begin(), h.end(), want.begin(), [](int a, int b) { return std::max(a, b); });
  verdict("inclusive_scan in place", n, back(v) == want);
}

void choosing(size_t n) {
  const auto h = numbers<int>(n, 50);
  Vector v(h.begin(), h.end()), out(n);
  std::vector<int> want;
  out.resize(thrust::copy_if(v.begin(), v.end(), out.begin(), Odd{}) - out.begin());
  std::copy_if(h.begin(), h.end(), std::back_inserter(want), Odd{});
  verdict("copy_if", n, back(out) == want);
  Vector w = v;
  w.erase(thrust::remove_if(w.begin(), w.end(), Odd{}), w.end());
  want.clear();
  std::copy_if(h.begin(), h.end(), std::back_inserter(want), [](int x) { return !(x & 1); });
  verdict("remove_if", n, back(w) == want);
  w = v;
  w.erase(thrust::unique(w.begin(), w.end()), w.end());
  want = h;
  want.erase(std::unique(want.begin(), want.end()), want.end());
  verdict("unique", n, back(w) == want);
  w = v;
  const size_t first = thrust::stable_partition(w.begin(), w.end(), Odd{}) - w.begin();
  want = h;
  const size_t expected = std::stable_partition(want.begin(), want.end(), Odd{}) - want.begin();
  verdict("stable_partition", n, first == expected && back(w) == want);
  w = v;
  thrust::replace_if(w.begin(), w.end(), Odd{}, 0);
  want = h;
  std::replace_if(want.begin(), want.end(), Odd{}, 0);
  verdict("replace_if", n, back(w) == want);
  thrust::reverse(w.begin(), w.end());
  std::reverse(want.begin(), want.end());
  verdict("reverse", n, back(w) == want);
}

void merging(size_t n) {
  auto a = numbers<int>(n, 300), b = numbers<int>(n / 2 + 1, 300);
  std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());
  Vector da(a.begin(), a.end()), db(b.begin(), b.end()), out(a.size() + b.size());
  const auto same = [&](const char* name, auto end, std::vector<int>& want) {
    out.resize(end - out.begin());
    verdict(name, n, back(out) == want);
    out.resize(a.size() + b.size());
    want.clear();
  };
  std::vector<int> want;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(want));
  same("merge", thrust::merge(da.begin(), da.end(), db.begin(), db.end(), out.begin()), want);
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(want));
  same("set_union", thrust::set_union(da.begin(), da.end(), db.begin(), db.end(), out.begin()), want);
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(want));
  same("set_intersection", thrust::set_intersection(da.begin(), da.end(), db.begin(), db.end(), out.begin()), want);
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(want));
  same("set_difference", thrust::set_difference(da.begin(), da.end(), db.begin(), db.end(), out.begin()), want);
  Vector places(b.size());
  thrust::lower_bound(da.begin(), da.end(), db.begin(), db.end(), places.begin());
  for (int x : b) want.push_back(static_cast<int>(std::lower_bound(a.begin(), a.end(), x) - a.begin()));
  verdict("lower_bound", n, back(places) == want);
  thrust::upper_bound(da.begin(), da.end(), db.begin(), db.end(), places.begin());
  want.clear();
  for (int x : b) want.push_back(static_cast<int>(std::upper_bound(a.begin(), a.end(), x) - a.begin()));
  verdict("upper_bound", n, back(places) == want);
}

void moving(size_t n) {
  const auto h = numbers<int>(n);
  Vector v(h.begin(), h.end()), map(n), out(n);
  thrust::sequence(map.rbegin(), map.rend());
  std::vector<int> want(h.rbegin(), h.rend());
  thrust::gather(map.begin(), map.end(), v.begin(), out.begin());
  verdict("gather", n, back(out) == want);
  thrust::fill(out.begin(), out.end(), 0);
  thrust::scatter(v.begin(), v.end(), map.begin(), out.begin());
  verdict("scatter", n, back(out) == want);
  const auto permuted = thrust::make_permutation_iterator(v.begin(), map.begin());
  verdict("permutation_iterator", n, thrust::equal(permuted, permuted + n, out.begin()));
  thrust::tabulate(out.begin(), out.end(), Square{});
  const auto squares = thrust::make_transform_iterator(thrust::make_counting_iterator(0), Square{});
  verdict("counting and transform iterators", n, thrust::equal(out.begin(), out.end(), squares));
  const auto zipped = thrust::make_zip_iterator(v.begin(), thrust::make_constant_iterator(3));
  thrust::transform(zipped, zipped + n, out.begin(), Product{});
  for (size_t i = 0; i < n; i++) want[i] = h[i] * 3;
  verdict("zip_iterator", n, back(out) == want);
  thrust::adjacent_difference(v.begin(), v.end(), out.begin());
  std::adjacent_difference(h.begin(), h.end(), want.begin());
  verdict("adjacent_difference", n, back(out) == want);
  thrust::swap_ranges(v.begin(), v.end(), out.begin());
  verdict("swap_ranges", n, back(v) == want && back(out) == h);
}

void containers(size_t n) {
  Vector grown;
  thrust::host_vector<int> host;
  for (size_t i = 0; i < std::min<size_t>(n, 50); i++) grown.push_back(static_cast<int>(i)), host.push_back(static_cast<int>(i));
  verdict("device_vector grows", n, thrust::equal(host.begin(), host.end(), back(grown).begin()) && grown.size() == host.size());
  grown.resize(n, 9);
  host.resize(n, 9);
  host = grown;
  verdict("host_vector from device_vector", n, std::count(host.begin(), host.end(), 9) >= static_cast<long>(n > 50 ? n - 50 : 0));
  grown.insert(grown.begin(), host.begin(), host.end());
  grown.erase(grown.begin(), grown.begin() + static_cast<long>(n / 2));
  verdict("insert and erase", n, grown.size() == 2 * n - n / 2);
  thrust::universal_vector<int> both(n, 2);
  for (size_t i = 0; i < n; i++) both[i] += 1;
  thrust::transform(thrust::device, both.begin(), both.end(), both.begin(), Square{});
  cudaDeviceSynchronize();
  verdict("universal_vector", n, std::count(both.begin(), both.end(), 9) == static_cast<long>(n));
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  Vector v(n, 1);
  thrust::inclusive_scan(thrust::cuda::par.on(stream), v.begin(), v.end(), v.begin());
  thrust::transform(thrust::cuda::par_nosync.on(stream), v.begin(), v.end(), v.begin(), Square{});
  cudaStreamSynchronize(stream);
  verdict("policies with a stream", n, !n || v[n - 1] == static_cast<int>(n * n));
  cudaStreamDestroy(stream);
}

int main() {
  for (size_t n : {0, 1, 33, 5000}) {
    sorting(n);
    reducing(n);
    scanning(n);
    choosing(n);
    merging(n);
    moving(n);
    containers(n);
  }
  return failures;
}
