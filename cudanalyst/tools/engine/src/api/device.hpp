// The device that the engine claims to be: its attributes, from a table.
#pragma once
#include <map>
#include <string>

namespace cudanalyst::device {

int attribute(int id);  // 0 for one that the table lacks
bool has_attribute(int id);
// In place of the table: what a recorder was told. From then on there are these attributes and no others.
void replace(const std::string& name, std::map<int, int> attributes);
int architecture();  // 90 for compute capability 9.0
const std::string& name();

// cudaLimit and CUlimit, cudaFuncCache and CUfunc_cache: the identifiers are the same.
int get_limit(size_t* value, int limit);
int set_limit(int limit, size_t value);
int cache_preference();
int prefer_cache(int wanted);  // a hint, for a cache that this engine does not have

}  // namespace cudanalyst::device
