"""Where the engine answers otherwise than an H200, and why. Everything else is held to be equal."""

from typing import Final

LAZY: Final = "bodies are decoded when a kernel is wanted: what is wrong in one is said then"
MAPPED: Final = (
    "kernels reach registered memory at the address of cudaHostGetDevicePointer, which is not the host's own"
)
RESET: Final = "a reset releases nothing: memory stays until it is freed or the process ends"

UNTIL: Final[dict[str, tuple[str, str]]] = {
    "registered_memory": (
        "cudaFreeHost(page): 1",
        MAPPED,
    ),
    "printf_of_the_device": ("", "what kernels print is printed at once, not when the host waits"),
    "fault_beyond_local": ("cudaPeekAtLastError(): 0", "the engine finds the access, which an H200 lets pass"),
    "launch_shapes": (
        "dynamic_shared<<<1, 32, 49152>>>(p): 1",
        "an H200 takes the low 32 bits of a size of shared memory; the engine refuses the size",
    ),
    "driver_launches": (
        "cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr): 1",
        "an H200 launches with a parameter block that is too short, and the kernel faults; the engine refuses the launch",
    ),
    "module_options": ("std::strlen(errors): 0", LAZY),
}
"""Cases that part for good after a line: up to there they are equal."""

CODES: Final[dict[str, tuple[str, str, str]]] = {
    "fault_jump": ("715", "718", "a jump to nowhere: an H200 met what is no instruction, the engine names the pointer"),
    "fault_recursion": ("700", "714", "a stack that is too deep: the engine says so"),
    "every_call_after_a_fault": ("717", "700", "which fault a wild address gives depends on what lies there"),
}
"""Cases in which one code stands for another at the end of a line."""

BROKEN: Final = (
    r"""cuModuleLoadData(&again, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { broken; }")"""
)
UNDEFINED: Final = (
    r"""cuModuleLoadData(&again, ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func f();\n"""
    r""".visible .entry k() { call f, (); ret; }")"""
)

LINES: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "registered_memory": {
        "reinterpret_cast<char*>(d) == page: 1": ("reinterpret_cast<char*>(d) == page: 0", MAPPED),
    },
    "larger_heap_of_the_device": {
        "*ok: 0": ("*ok: 1", "the heap hands out all of its limit; an H200 needs some of it for itself"),
    },
    "heap_and_host": {
        "cudaMemset(*p, 0, 4): 0": ("cudaMemset(*p, 0, 4): 1", "the host reaches memory of malloc() in no way"),
    },
    "reset": {
        "cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost): 1": ("cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost): 0", RESET),
        "cudaFree(p): 1": ("cudaFree(p): 0", RESET),
    },
    "modules": {f"{BROKEN}: 218": (f"{BROKEN}: 0", LAZY), f"{UNDEFINED}: 218": (f"{UNDEFINED}: 0", LAZY)},
}
"""Lines that differ, by the line of an H200."""
