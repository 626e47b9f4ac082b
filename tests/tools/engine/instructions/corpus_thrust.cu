#include <thrust/device_vector.h>
#include <thrust/sort.h>
#include <thrust/scan.h>
#include <thrust/reduce.h>
#include <thrust/transform.h>
#include <thrust/unique.h>
#include <thrust/copy.h>
#include <thrust/partition.h>
#include <thrust/count.h>
#include <thrust/extrema.h>
#include <thrust/binary_search.h>
#include <thrust/set_operations.h>
#include <thrust/transform_reduce.h>
#include <thrust/inner_product.h>
#include <thrust/sequence.h>
struct odd { __host__ __device__ bool operator()(int x) const { return x & 1; } };
struct sq { __host__ __device__ int operator()(int x) const { return x * x; } };
int main() {
  thrust::device_vector<int> a(100), b(100), c(300);
  thrust::device_vector<float> f(100);
  thrust::sequence(a.begin(), a.end());
  thrust::sort(a.begin(), a.end());
  thrust::sort_by_key(a.begin(), a.end(), f.begin(), thrust::greater<int>());
  thrust::stable_sort(f.begin(), f.end());
  thrust::inclusive_scan(a.begin(), a.end(), b.begin());
  thrust::exclusive_scan_by_key(a.begin(), a.end(), b.begin(), b.begin());
  thrust::reduce_by_key(a.begin(), a.end(), b.begin(), c.begin(), c.begin());
  thrust::transform(a.begin(), a.end(), b.begin(), sq());
  thrust::unique(a.begin(), a.end());
  thrust::copy_if(a.begin(), a.end(), b.begin(), odd());
  thrust::partition(a.begin(), a.end(), odd());
  int n = thrust::count_if(a.begin(), a.end(), odd());
  n += *thrust::max_element(a.begin(), a.end());
  thrust::lower_bound(a.begin(), a.end(), b.begin(), b.end(), c.begin());
  thrust::set_intersection(a.begin(), a.end(), b.begin(), b.end(), c.begin());
  thrust::merge(a.begin(), a.end(), b.begin(), b.end(), c.begin());
  n += thrust::transform_reduce(a.begin(), a.end(), sq(), 0, thrust::plus<int>());
  n += thrust::inner_product(a.begin(), a.end(), b.begin(), 0);
  return n;
}
