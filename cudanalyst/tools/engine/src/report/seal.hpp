// Seals what the engine writes, so that whoever started the process can tell it from what a candidate writes into the same file.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace cudanalyst::seal {

// Takes the key out of the environment, where untrusted code would find it. Called before any of the program's own code.
void take_key();
bool on();
// The seal of the n-th line of the report: 32 hexadecimal digits.
std::string of_line(uint64_t number, std::string_view line);
// Digest of contents, 64 hexadecimal digits; it is worth something within a sealed line.
std::string digest(std::string_view contents);

}  // namespace cudanalyst::seal
