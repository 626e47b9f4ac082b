// The device that the engine claims to be: its attributes, from a table.
#pragma once
#include <string>

namespace cudanalyst::device {

int attribute(int id);  // 0 for one that the table lacks
bool has_attribute(int id);
int architecture();  // 90 for compute capability 9.0
const std::string& name();

}  // namespace cudanalyst::device
