// What the runner asks of the engine beyond CUDA. That these functions exist is how it knows which runtime it has loaded.
#pragma once
#include <cuda_runtime_api.h>

constexpr int engine_interface_version = 1;

extern "C" {
// Says which interface this engine has; from then on the report ends only after cudanalyst_finish.
int cudanalyst_engine(void);
void cudanalyst_name_buffer(void* buffer, const char* name);
// Around each call of solve, with the stream that it is given. The end's text is the contract's first violation, or null.
void cudanalyst_begin_call(cudaStream_t stream);
const char* cudanalyst_end_call(void);
void cudanalyst_report_call(int index, const char* status, int value, int cuda_error, const char* message);
int cudanalyst_device_error(void);  // of a fault, else 0
void cudanalyst_finish(void);
}
