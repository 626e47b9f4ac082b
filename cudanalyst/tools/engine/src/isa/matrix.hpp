// Products of matrices as tensor cores compute them.
#pragma once
#include <vector>

#include "lanes.hpp"

namespace cudanalyst::isa {

enum class Element : u8 { none, f16, bf16, tf32, f32, f64, e4m3, e5m2, s8, u8, s4, u4, b1, s32 };
Element element_of(std::string_view modifier);  // ".f16"
unsigned bits_of(Element e);

// d = a * b + c for matrices of m x k, k x n and m x n. Elements are bit patterns; a, c and d lie by rows, b by columns. b1: words of 32.
struct Product {
  u32 m = 0, n = 0, k = 0;
  Element a = Element::none, b = Element::none, c = Element::none, d = Element::none;
  bool saturate = false, exclusive_or = false;
  bool scalar = false;  // m8n8k4 of f16, which sm_90 has no tensor core for
};
size_t fragment_registers(const Product& p, char which, Element e);
void multiply(const Product& p, const u32* a, const u32* b, const u32* c, u32* d);
void multiply(const Product& p, const double* a, const double* b, double* c);

}  // namespace cudanalyst::isa
