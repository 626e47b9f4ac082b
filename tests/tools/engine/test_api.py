"""The runtime and driver API answer as a GPU's do."""

import re
from pathlib import Path

import pytest

from tests.tools.engine.conftest import Bench

PROGRAMS = Path(__file__).parent / "programs"
RECORDED = (Path(__file__).parent / "data" / "api_answers_h200.txt").read_text()
CASES = dict(re.findall(r"^case (\w+)\n(.*?)(?=^case |\Z)", RECORDED, re.MULTILINE | re.DOTALL))

HEADER = "#include <cuda_runtime.h>\n#include <cstdio>\n#include <cstdlib>\n#include <unistd.h>\n"
KERNEL = (
    HEADER
    + "__global__ void add(int* p, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] += i; }\n"
)


@pytest.mark.parametrize("case", CASES)
def test_answers_are_those_of_an_h200(bench: Bench, case: str) -> None:
    program = bench.compile((PROGRAMS / "api_answers.cu").read_text())
    assert bench.start(program, case).output.splitlines() == CASES[case].splitlines()


def test_a_program_ends_with_an_end_record(bench: Bench) -> None:
    run = bench.run(
        KERNEL + "int main() { int* p; cudaMalloc(&p, 400); add<<<1, 128>>>(p, 100); return cudaDeviceSynchronize(); }"
    )
    assert run.process.exit_status == 0
    assert run.report[0]["type"] == "engine"
    assert run.report[-1] == {"type": "end", "cuda_error": 0, "cuda_error_name": "cudaSuccess"}
    assert [launch["grid"] for launch in run.of_type("launch")] == [[1, 1, 1]]


def test_the_end_record_names_a_fault_that_nobody_asked_about(bench: Bench) -> None:
    run = bench.run(
        HEADER
        + "__global__ void k(int* p) { p[1 << 26] = 1; }\nint main() { int* p; cudaMalloc(&p, 4); k<<<1, 1>>>(p); }"
    )
    assert run.report[-1]["cuda_error_name"] == "cudaErrorIllegalAddress"


@pytest.mark.parametrize("leave", ["exit(3)", "return 3"])
def test_leaving_in_order_writes_the_end(bench: Bench, leave: str) -> None:
    run = bench.run(KERNEL + f"int main() {{ cudaFree(0); {leave}; }}")
    assert run.process.exit_status == 3
    assert run.report[-1]["type"] == "end"


@pytest.mark.parametrize("leave", ["_exit(0)", "abort()"])
def test_leaving_otherwise_writes_no_end(bench: Bench, leave: str) -> None:
    run = bench.run(KERNEL + f"int main() {{ cudaDeviceSynchronize(); {leave}; }}")
    assert not run.of_type("end")


def test_the_child_of_a_fork_cannot_use_the_context_and_writes_no_end(bench: Bench) -> None:
    code = 'cudaFree(0); if (!fork()) { printf("%d\\n", cudaDeviceSynchronize()); fflush(stdout); exit(0); } usleep(300000);'
    run = bench.run(KERNEL + f"int main() {{ {code} }}")
    assert run.output == "3\n"
    assert len(run.of_type("end")) == 1


def test_the_host_cannot_read_device_memory(bench: Bench) -> None:
    run = bench.run(KERNEL + "int main() { int* p; cudaMalloc(&p, 4); return *p; }")
    assert run.process.signal == "SIGSEGV"


def test_both_sides_reach_managed_and_pinned_memory(bench: Bench) -> None:
    code = """
    int *m, *h;
    cudaMallocManaged(&m, 40);
    cudaMallocHost(&h, 40);
    for (int i = 0; i < 10; i++) m[i] = h[i] = 100;
    add<<<1, 32>>>(m, 10);
    add<<<1, 32>>>(h, 10);
    cudaDeviceSynchronize();
    printf("%d %d\\n", m[9], h[9]);
    """
    assert bench.run(KERNEL + f"int main() {{ {code} }}").output == "109 109\n"


def test_variables_of_the_device_are_reached_by_symbol(bench: Bench) -> None:
    code = (
        HEADER
        + """
    __device__ int v[4] = {1, 2, 3, 4};
    __constant__ int c;
    __managed__ int m = 5;
    __global__ void k() { v[1] += c; m += v[0]; }
    int main() {
      int ten = 10, back[4];
      cudaMemcpyToSymbol(c, &ten, 4);
      m += 1;
      k<<<1, 1>>>();
      cudaMemcpyFromSymbol(back, v, 16);
      cudaDeviceSynchronize();
      printf("%d %d %d\\n", back[1], back[3], m);
    }
    """
    )
    assert bench.run(code).output == "12 4 7\n"


def test_pitched_and_three_dimensional_copies_go_back_and_forth(bench: Bench) -> None:
    code = (
        HEADER
        + """
    int main() {
      int h[4][3][5], back[4][3][5] = {}, flat[3][5] = {};
      for (int i = 0; i < 60; i++) (&h[0][0][0])[i] = i;
      cudaPitchedPtr d;
      cudaMalloc3D(&d, make_cudaExtent(20, 3, 4));
      cudaMemcpy3DParms p = {};
      p.srcPtr = make_cudaPitchedPtr(h, 20, 5, 3);
      p.dstPtr = d;
      p.extent = make_cudaExtent(20, 3, 4);
      p.kind = cudaMemcpyHostToDevice;
      int e = cudaMemcpy3D(&p);
      p.srcPtr = d;
      p.dstPtr = make_cudaPitchedPtr(back, 20, 5, 3);
      p.kind = cudaMemcpyDeviceToHost;
      e += cudaMemcpy3D(&p);
      e += cudaMemset2D(d.ptr, d.pitch, 0, 8, 3);
      e += cudaMemcpy2D(flat, 20, d.ptr, d.pitch, 20, 3, cudaMemcpyDeviceToHost);
      printf("%d %d %d %d %d\\n", e, back[3][2][4], back[1][0][0], flat[2][1], flat[2][2]);
    }
    """
    )
    assert bench.run(code).output == "0 59 15 0 12\n"


def test_what_is_not_implemented_links_and_names_itself(bench: Bench) -> None:
    run = bench.run(HEADER + 'int main() { cudaGraph_t g; printf("%d\\n", cudaGraphCreate(&g, 0)); }')
    assert run.output == "801\n"
    (record,) = run.of_type("unsupported")
    assert (record["what"], record["name"]) == ("function", "cudaGraphCreate")
    assert run.report[-1]["cuda_error"] == 801


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        ("-gencode=arch=compute_90,code=sm_90", "only machine code"),
        ("-gencode=arch=compute_100,code=compute_100", "sm_100"),
    ],
)
def test_code_that_cannot_run_says_what_to_compile_instead(bench: Bench, flags: str, word: str) -> None:
    source = KERNEL + 'int main() { add<<<1, 1>>>(0, 0); printf("%d\\n", cudaGetLastError()); }'
    run = bench.run(source, flags)
    assert run.output == "209\n"
    (record,) = run.of_type("unsupported")
    assert word in str(record["message"])
    assert "-gencode" in str(record["message"])


def test_launches_with_attributes_and_cooperative_ones_run(bench: Bench) -> None:
    code = """
    int *p, h;
    cudaMalloc(&p, 400);
    cudaMemset(p, 0, 400);
    cudaLaunchAttribute a[2] = {};
    a[0].id = cudaLaunchAttributePriority;
    a[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    cudaLaunchConfig_t c = {};
    c.gridDim = 1;
    c.blockDim = 128;
    c.attrs = a;
    c.numAttrs = 2;
    int e = cudaLaunchKernelEx(&c, add, p, 100);
    int n = 100;
    void* arguments[] = {&p, &n};
    e += cudaLaunchCooperativeKernel(add, dim3(1), dim3(128), arguments, 0, 0);
    cudaMemcpy(&h, p + 99, 4, cudaMemcpyDeviceToHost);
    printf("%d %d\\n", e, h);
    """
    assert bench.run(KERNEL + f"int main() {{ {code} }}").output == "0 198\n"


def test_host_functions_and_callbacks_run_in_order(bench: Bench) -> None:
    code = """
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaLaunchHostFunc(s, [](void* d) { printf("%s\\n", (char*)d); }, (void*)"first");
    cudaStreamAddCallback(s, [](cudaStream_t, cudaError_t e, void*) { printf("second %d\\n", e); }, nullptr, 0);
    cudaStreamSynchronize(s);
    """
    assert bench.run(KERNEL + f"int main() {{ {code} }}").output == "first\nsecond 0\n"


def test_the_driver_api_loads_and_launches_ptx(bench: Bench) -> None:
    code = """
    #include <cuda.h>
    #include <cstdio>
    const char* ptx = R"(
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .global .align 4 .u32 factor = 3;
    .visible .entry scale(.param .u64 p) {
      .reg .b64 %rd<4>;
      .reg .b32 %r<4>;
      ld.param.u64 %rd1, [p];
      cvta.to.global.u64 %rd2, %rd1;
      ld.global.u32 %r1, [%rd2];
      ld.global.u32 %r2, [factor];
      mul.lo.s32 %r3, %r1, %r2;
      st.global.u32 [%rd2], %r3;
      ret;
    })";
    int main() {
      CUdevice device; CUcontext context; CUmodule module; CUfunction function; CUdeviceptr p, factor; size_t bytes; int value = 14;
      int e = cuInit(0) | cuDeviceGet(&device, 0) | cuDevicePrimaryCtxRetain(&context, device) | cuCtxSetCurrent(context);
      e |= cuModuleLoadData(&module, ptx) | cuModuleGetFunction(&function, module, "scale") | cuModuleGetGlobal(&factor, &bytes, module, "factor");
      e |= cuMemAlloc(&p, 4) | cuMemcpyHtoD(p, &value, 4);
      void* arguments[] = {&p};
      e |= cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0);
      size_t size = 8;
      void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &p, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
      e |= cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, extra);
      e |= cuCtxSynchronize() | cuMemcpyDtoH(&value, p, 4);
      void* found = nullptr;
      CUdriverProcAddressQueryResult status;
      e |= cuGetProcAddress("cuMemAlloc", &found, 13000, 0, &status);
      printf("%d %d %zu %d\\n", e, value, bytes, found == (void*)cuMemAlloc);
      printf("%d\\n", cuModuleGetFunction(&function, module, "missing"));
      printf("%d\\n", cuModuleLoadData(&module, "no ptx"));
    }
    """
    run = bench.run(code, "-lcuda")
    assert run.output.splitlines() == ["0 126 4 1", "500", "200"]


def test_a_table_of_another_device_answers_queries(bench: Bench, tmp_path: Path) -> None:
    table = tmp_path / "device"
    table.write_text(
        "name Test Device\n# words\n1 512\n2 512\n3 512\n4 64\n5 1000\n6 1000\n7 1000\n8 49152\n10 32\n12 65536\n16 7\n75 9\n76 0\n"
    )
    source = (
        KERNEL
        + 'int main() { cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); add<<<1, 513>>>(0, 0); printf("%d %d %s\\n", p.multiProcessorCount, cudaGetLastError(), p.name); }'
    )
    run = bench.run(source, env={"CUDANALYST_DEVICE": str(table)})
    assert run.output == "7 1 cudanalyst CPU engine (attributes of an Test Device)\n"


def test_a_bad_table_is_refused_with_its_line(bench: Bench, tmp_path: Path) -> None:
    table = tmp_path / "device"
    table.write_text("1 512\nspeed fast\n")
    run = bench.run(
        KERNEL + "int main() { int v; cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 0); }",
        env={"CUDANALYST_DEVICE": str(table)},
    )
    assert run.process.exit_status == 125
    assert f"{table}:2" in run.process.stderr.text


def test_registered_memory_is_the_devices_at_the_address_that_is_asked_for(bench: Bench) -> None:
    code = """
    int* p = (int*)aligned_alloc(4096, 8192), *d;
    p[100] = 1000;
    cudaHostRegister(p, 8192, cudaHostRegisterMapped);
    cudaHostGetDevicePointer(&d, p + 1, 0);
    add<<<1, 128>>>(d, 100);
    cudaDeviceSynchronize();
    p[1] += 1;
    int e = cudaHostUnregister(p);
    printf("%d %d %d\\n", e, p[100], p[1]);
    """
    assert bench.run(KERNEL + f"int main() {{ {code} }}").output == "0 1099 1\n"
