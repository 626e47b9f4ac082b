// Contexts as programs see them: a stack a thread, a primary one of the device, and those that were made. They share one memory.
#pragma once
#include "api.hpp"

namespace cudanalyst::contexts {

void initialise();  // cuInit; every runtime call does it
bool initialised();
void use_primary();  // for a runtime call of a thread that has none
CUcontext current();
bool known(CUcontext context);
void deactivate_primary();  // by a reset

}  // namespace cudanalyst::contexts
