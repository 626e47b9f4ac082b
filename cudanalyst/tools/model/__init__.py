"""A modelled time of a kernel's launch: machine code laid under the engine's counts, simulated on one sub-partition of a device's multiprocessor."""
