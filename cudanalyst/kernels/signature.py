"""The contract of a candidate as text: the C signature of `solve`, its rules, and a skeleton to start from."""

from typing import Final

from cudanalyst.kernels.problem import DType, Parameter, Problem

_BUFFER_TYPES: Final[dict[DType, str]] = {
    "f16": "__half",
    "bf16": "__nv_bfloat16",
    "f32": "float",
    "f64": "double",
    "i8": "signed char",
    "u8": "unsigned char",
    "i32": "int",
    "u32": "unsigned int",
    "i64": "long",
    "u64": "unsigned long",
}
_SCALAR_TYPES: Final[dict[DType, str]] = {"i32": "int", "i64": "long", "f32": "float", "f64": "double"}
_HEADERS: Final[dict[DType, str]] = {"f16": "cuda_fp16.h", "bf16": "cuda_bf16.h"}


def c_parameter(parameter: Parameter) -> str:
    """One parameter as C writes it, e.g. `const float* a`."""
    if parameter.role == "scalar":
        return f"{_SCALAR_TYPES[parameter.dtype]} {parameter.name}"
    constant = "const " if parameter.role == "in" else ""
    return f"{constant}{_BUFFER_TYPES[parameter.dtype]}* {parameter.name}"


def c_signature(problem: Problem) -> str:
    """The declaration of `solve`, without a semicolon."""
    parameters = ", ".join([*(c_parameter(parameter) for parameter in problem.parameters), "cudaStream_t stream"])
    return f'extern "C" int solve({parameters})'


def c_workspace_signatures(problem: Problem) -> tuple[str, str, str]:
    """The optional functions: `workspace_bytes`, `init`, and `solve` as it is when `workspace_bytes` is exported."""
    sizes = ", ".join(f"long {name}" for name in problem.size_names)
    with_workspace = c_signature(problem).replace(
        "cudaStream_t stream", "void* workspace, size_t workspace_size, cudaStream_t stream"
    )
    return f'extern "C" size_t workspace_bytes({sizes})', f'extern "C" int init({sizes})', with_workspace


def skeleton(problem: Problem) -> str:
    """A minimal candidate: it compiles, launches a kernel that does nothing yet, and returns 0."""
    headers = {"cuda_runtime.h", *(_HEADERS[item.dtype] for item in problem.parameters if item.dtype in _HEADERS)}
    includes = "\n".join(f"#include <{header}>" for header in sorted(headers))
    parameters = ", ".join(c_parameter(parameter) for parameter in problem.parameters)
    names = ", ".join(parameter.name for parameter in problem.parameters)
    return f"""{includes}

__global__ void kernel({parameters}) {{
    // One element per thread: compute it here, and guard the index.
}}

{c_signature(problem)} {{
    const int threads = 256;
    const int blocks = 1;
    kernel<<<blocks, threads, 0, stream>>>({names});
    return 0;
}}
"""


def contract(problem: Problem) -> str:
    """Everything that an author of a candidate must know, as Markdown."""
    workspace, init, with_workspace = c_workspace_signatures(problem)
    buffers = "\n".join(f"- `{c_parameter(item)}`: {_describe(item)}" for item in problem.parameters)
    return f"""Export this function from one CUDA C++ source file:

```cpp
{c_signature(problem)};
```

{buffers}
- `cudaStream_t stream`: order all work on it

Rules
- Pointers are device pointers. Outputs are allocated but not cleared. Do not write to `const` buffers or out of bounds.
- All work is ordered on `stream`; streams of your own must fork from it and join it by events. No default stream.
- Inside `solve`: no host synchronisation, no allocation, no copy to the host, at most 64 KB copied from it. No managed, pinned
  or registered memory anywhere. Return 0, or a CUDA error code.
- The result must be right for every size and input, odd and prime sizes too; other sizes than those shown are tried.
- Every call must do the whole work: results must not be kept from one call to the next.

Optional, both before any input exists:
- `{workspace};` asks for scratch memory; `solve` then is `{with_workspace}`.
- `{init};` is called once per size, for tables and attributes.
"""


def _describe(parameter: Parameter) -> str:
    if parameter.role == "scalar":
        return f"the value of `{parameter.value if parameter.value is not None else parameter.name}`"
    kind = {"in": "input", "out": "output", "inout": "input and output"}[parameter.role]
    return f"{kind}, {parameter.dtype}, shape ({', '.join(parameter.shape)}), row-major, in device memory"
