// Asks the runtime and driver API questions whose answers are facts of CUDA, and prints each with its answer. Without arguments it
// lists its cases; with one it runs that case. What an H200 answered is kept in ../data; ../test_conformance.py compares.
#include "answers.cuh"

#include "errors.cuh"
#include "memory.cuh"
#include "copies.cuh"
#include "pools.cuh"
#include "streams.cuh"
#include "devices.cuh"
#include "functions.cuh"
#include "launches.cuh"
#include "faults.cuh"
#include "driver.cuh"
#include "driver_work.cuh"

int main(int count, char** words) {
  for (const Case& known : Case::all()) {
    if (count < 2) std::puts(known.name);
    else if (!std::strcmp(known.name, words[1])) return known.body(), std::fflush(stdout), 0;
  }
  return count < 2 ? 0 : 2;
}
