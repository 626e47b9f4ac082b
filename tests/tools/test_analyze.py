"""What `analyze` reads out of a source."""

from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudanalyst.tools.analyze import AnalyzeResult, analyze
from cudanalyst.tools.source import Source

GLOBAL_INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


def read(text: str) -> AnalyzeResult:
    return analyze(Source(text=dedent(text), problem="vector_add"))


def kernel(body: str, parameters: str = "const float* a, float* b, int n") -> AnalyzeResult:
    return read(f"__global__ void k({parameters}) {{\n{body}\n}}")


def kinds(result: AnalyzeResult, *confidences: str) -> set[str]:
    return {s.kind for s in result.suspicions if not confidences or s.confidence in confidences}


def strides(result: AnalyzeResult) -> list[tuple[str, str, str | None]]:
    return [(a.expression, a.stride, a.stride_elements) for a in result.kernels[0].accesses]


def test_a_clean_kernel_is_clean_and_its_facts_are_all_there() -> None:
    result = read(
        """
        template <int TILE>
        __global__ void __launch_bounds__(256, 2) scale(const float4* __restrict__ a, float4* __restrict__ b, int n) {
          __shared__ float tile[TILE][TILE + 1];
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          #pragma unroll 4
          for (int k = 0; k < 4; ++k) { while (n > 1000) --n; }
          __syncthreads();
          if (i < n) b[i] = a[i];
        }
        extern "C" int solve(const float* a, float* b, int n, cudaStream_t s) {
          dim3 block(256);
          scale<16><<<(n + 255) / 256, block, 0, s>>>((const float4*)a, (float4*)b, n);
          return 0;
        }
        """
    )
    facts = result.kernels[0]
    assert (result.status, facts.name, facts.launch_bounds) == ("clean", "scale", ("256", "2"))
    assert [(loop.kind, loop.depth, loop.unrolled) for loop in facts.loops] == [("for", 0, True), ("while", 1, False)]
    assert facts.shared[0].extents == ("TILE", "TILE + 1")
    assert (len(facts.barriers), len(facts.vector_accesses), result.parse_confidence) == (1, 2, 1.0)
    launch = result.launches[0]
    assert (launch.kernel, launch.block, launch.stream, launch.place.line) == ("scale", "dim3(256)", "s", 13)


@pytest.mark.parametrize(
    ("index", "stride", "elements"),
    [
        ("i", "unit", None),
        ("n - 1 - i", "unit", None),
        ("2 * i + 1", "strided", "2"),
        ("i << 2", "strided", "4"),
        ("i * n", "strided", "n"),
        ("blockIdx.x", "broadcast", None),
        ("threadIdx.y * n + blockIdx.x", "broadcast", None),
        ("i / 2", "unknown", None),
        ("threadIdx.x / 32", "broadcast", None),
        ("threadIdx.x % 32", "unit", None),
        ("threadIdx.x & 31", "unit", None),
        ("threadIdx.x % 5", "unknown", None),
        ("i * i", "unknown", None),
        ("(size_t)i + (size_t)n", "unit", None),
        ("static_cast<int>(threadIdx.x) * 3", "strided", "3"),
        ("int(b[i])", "unknown", None),
    ],
)
def test_the_stride_of_an_index_is_how_it_moves_with_threadidx_x(index: str, stride: str, elements: str | None) -> None:
    found = strides(kernel(f"{GLOBAL_INDEX} float x = a[{index}];"))
    assert (f"a[{index}]", stride, elements) in found


@pytest.mark.parametrize(
    ("body", "stride"),
    [
        ("const float* row = a + threadIdx.x * n; float x = row[3];", "strided"),
        ("float x = *(a + threadIdx.x);", "unit"),
        ("float x = __ldg(&a[threadIdx.x * 2]);", "strided"),
        ("float x = __ldg(a + threadIdx.x);", "unit"),
        ("for (int j = threadIdx.x; j < n; j += blockDim.x) b[j] = 0;", "unit"),
        ("for (int j = 0; j < n; ++j) b[threadIdx.x * n + j] = 0;", "strided"),
        ("int j = 0; if (n > 3) j = threadIdx.x / 3; b[j] = 0;", "unknown"),
        ("int j; j = threadIdx.x; b[j] = 0;", "unit"),
        ("auto block = cg::this_thread_block(); b[block.thread_rank()] = 0;", "unit"),
    ],
)
def test_strides_follow_locals_pointers_and_loop_variables(body: str, stride: str) -> None:
    assert strides(kernel(body))[0][1] == stride


def test_macros_and_constants_are_seen_through() -> None:
    result = read(
        """
        #define AT(r, c) ((r) * n + (c))
        constexpr int STEP = 4;
        __global__ void k(const float* a, float* b, int n) {
          b[AT(threadIdx.y, threadIdx.x)] = a[AT(threadIdx.x, threadIdx.y)] + a[STEP * threadIdx.x];
        }
        """
    )
    assert [(s, e) for _, s, e in strides(result)] == [("unit", None), ("strided", "n"), ("strided", "4")]


def test_a_field_of_a_structure_is_strided_by_the_structure() -> None:
    result = read(
        "struct P { float x, y; };\n__global__ void k(const P* p, float* o) { o[threadIdx.x] = p[threadIdx.x].x; }"
    )
    assert ("p[threadIdx.x]", "strided", "sizeof(P)/sizeof(x)") in strides(result)


@pytest.mark.parametrize(
    "head",
    [
        "__global__ void __launch_bounds__(256, 2, 1) k",
        "__global__ void __cluster_dims__(2, 1, 1) k",
        "__global__ __launch_bounds__(256) void __maxnreg__(64) k",
        'extern "C" __global__ void __block_size__((128, 1, 1)) k',
        "static __global__ __attribute__((unused)) void k",
    ],
)
def test_attributes_that_the_grammar_cannot_parse_do_not_hide_the_kernel(head: str) -> None:
    result = read(f"{head}(float* p) {{ p[threadIdx.x] = 1; }}")
    assert [k.name for k in result.kernels] == ["k"]
    assert result.parse_confidence == 1.0


def test_blanking_leaves_strings_comments_and_places_alone() -> None:
    result = read(
        """
        // __launch_bounds__(
        const char* s = "__align__(";
        struct __align__(16) V { float x; };
        __global__ void k(float* p) { extern __shared__ __align__(16) float sm[]; p[threadIdx.x] = sm[threadIdx.x]; }
        """
    )
    assert result.kernels[0].place.line == 5
    assert result.kernels[0].shared[0].dynamic
    assert result.parse_confidence == 1.0


def test_device_lambdas_and_split_braces_are_parsed() -> None:
    result = read(
        """
        __global__ void k(float* p, int n) {
          auto f = [=] __device__ (int i) { return p[i]; };
        #if FAST
          if (n > 0) {
        #else
          if (n > 1) {
        #endif
            p[threadIdx.x] = f(threadIdx.x);
          }
        }
        """
    )
    assert (result.parse_confidence, len(result.kernels)) == (1.0, 1)
    assert [s for e, s, _ in strides(result) if e == "p[i]"] == ["unknown"]


def test_what_cannot_be_parsed_is_said_with_its_lines() -> None:
    result = read("__global__ void k(float* p) { p[threadIdx.x] = 1; }\nint ) ( = ;;; }}\n")
    assert result.error_ranges
    assert result.parse_confidence is not None
    assert result.parse_confidence < 1
    assert "could not be parsed" in result.summary


def test_kernels_that_only_the_compiler_saw_are_named() -> None:
    text = "#define KERNEL(name) __global__ void name(float* p)\nKERNEL(hidden) { *p = 1; }\n__global__ void k(float* p) { *p = 2; }"
    result = analyze(Source(text=text), kernels_seen_by_ptxas=("hidden(float*)", "k(float*)"))
    assert "not found here: hidden" in result.summary


class TestBarriers:
    @pytest.mark.parametrize(
        "body",
        [
            "if (threadIdx.x < 16) __syncthreads();",
            "int t = threadIdx.x; if (t < 16) { b[t] = 0; __syncthreads(); }",
            "for (int j = threadIdx.x; j < n; j += blockDim.x) { __syncthreads(); }",
            f"{GLOBAL_INDEX} if (i < n) {{ __syncthreads(); }}",
            f"{GLOBAL_INDEX} if (i < n) {{ b[i] = 0; }} else {{ __syncthreads(); }}",
            "while (b[threadIdx.x] > 0) { __syncthreads(); }",
            "auto block = cg::this_thread_block(); if (threadIdx.x == 0) block.sync();",
        ],
    )
    def test_a_barrier_under_a_condition_that_differs_between_threads_is_marked(self, body: str) -> None:
        assert "divergent_barrier" in kinds(kernel(body), "high")

    def test_a_barrier_after_an_early_return_is_marked_with_less_confidence(self) -> None:
        result = kernel(f"{GLOBAL_INDEX} if (i >= n) return; __syncthreads(); b[i] = 0;")
        assert "divergent_barrier" in kinds(result, "medium")

    @pytest.mark.parametrize(
        "body",
        [
            "for (int s = blockDim.x / 2; s > 0; s >>= 1) { __syncthreads(); }",
            "if (blockIdx.x == 0) __syncthreads();",
            "if (n > 100) { __syncthreads(); }",
            "__syncthreads(); if (threadIdx.x == 0) b[0] = 1;",
        ],
    )
    def test_a_barrier_that_all_threads_reach_is_not_marked(self, body: str) -> None:
        assert "divergent_barrier" not in kinds(kernel(body))

    def test_a_shared_array_read_without_a_barrier_after_the_write_is_marked(self) -> None:
        body = "__shared__ float s[64]; s[threadIdx.x] = a[threadIdx.x]; {} b[threadIdx.x] = s[63 - threadIdx.x];"
        assert "missing_barrier" in kinds(kernel(body.format("")))
        assert "missing_barrier" not in kinds(kernel(body.format("__syncthreads();")))

    def test_a_loop_that_overwrites_a_tile_still_being_read_is_marked(self) -> None:
        loop = "for (int t = 0; t < n; ++t) {{ s[threadIdx.x] = a[threadIdx.x]; __syncthreads(); x += s[t % 64]; {} }}"
        assert "missing_barrier" in kinds(kernel("__shared__ float s[64]; float x = 0; " + loop.format("")))
        assert "missing_barrier" not in kinds(
            kernel("__shared__ float s[64]; float x = 0; " + loop.format("__syncthreads();"))
        )

    def test_a_tree_reduction_with_its_barriers_is_not_marked(self) -> None:
        result = kernel(
            "__shared__ float s[256]; int t = threadIdx.x; s[t] = a[t]; __syncthreads();\n"
            "for (int d = blockDim.x / 2; d > 0; d >>= 1) { if (t < d) s[t] += s[t + d]; __syncthreads(); }\n"
            "if (t == 0) b[0] = s[0];"
        )
        assert not kinds(result, "high", "medium")


class TestMemory:
    def test_an_index_made_of_block_and_thread_without_a_bound_is_marked(self) -> None:
        assert "missing_bounds_guard" in kinds(kernel(f"{GLOBAL_INDEX} b[i] = a[i];"), "high")

    @pytest.mark.parametrize(
        "body",
        [
            f"{GLOBAL_INDEX} if (i < n) b[i] = a[i];",
            f"{GLOBAL_INDEX} if (i >= n) return; b[i] = a[i];",
            f"{GLOBAL_INDEX} for (; i < n; i += gridDim.x * blockDim.x) b[i] = a[i];",
            f"{GLOBAL_INDEX} float x = i < n ? a[i] : 0;",
            "int i = min(blockIdx.x * blockDim.x + threadIdx.x, n - 1); b[i] = a[i];",
            "for (int j = threadIdx.x; j < n; j += blockDim.x) b[blockIdx.x * n + j] = 0;",
        ],
    )
    def test_a_guarded_or_clamped_index_is_not_marked(self, body: str) -> None:
        assert "missing_bounds_guard" not in kinds(kernel(body))

    def test_the_axis_without_a_guard_is_named(self) -> None:
        body = (
            "int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "if (r < n) b[r * n + c] = 0;"
        )
        marked = [s for s in kernel(body).suspicions if s.kind == "missing_bounds_guard"]
        assert [" in x;" in s.message for s in marked] == [True]

    def test_a_guard_that_lets_one_too_many_through_is_marked(self) -> None:
        assert "off_by_one_guard" in kinds(kernel(f"{GLOBAL_INDEX} if (i <= n) b[i] = a[i];"))
        assert "off_by_one_guard" in kinds(kernel(f"{GLOBAL_INDEX} if (i > n) return; b[i] = a[i];"))
        assert "off_by_one_guard" not in kinds(kernel(f"{GLOBAL_INDEX} if (i <= n - 1) b[i] = a[i];"))

    def test_column_walks_are_uncoalesced_and_a_single_thread_is_not(self) -> None:
        assert "uncoalesced_access" in kinds(kernel("b[threadIdx.x * n] = 0;"), "high")
        assert "uncoalesced_access" in kinds(kernel("b[threadIdx.x * 2] = 0;"), "medium")
        assert "uncoalesced_access" not in kinds(kernel("if (threadIdx.x == 0) b[threadIdx.x * n] = 0;"))

    @pytest.mark.parametrize(("pad", "marked"), [("", True), (" + 1", False)])
    def test_a_square_tile_read_by_columns_conflicts_unless_it_is_padded(self, pad: str, marked: bool) -> None:
        result = read(
            f"""
            #define T 32
            __global__ void k(const float* a, float* b, int n) {{
              __shared__ float t[T][T{pad}];
              t[threadIdx.y][threadIdx.x] = a[threadIdx.y * n + threadIdx.x];
              __syncthreads();
              b[threadIdx.y * n + threadIdx.x] = t[threadIdx.x][threadIdx.y];
            }}
            void f(float* p) {{ k<<<1, dim3(T, T)>>>(p, p, 32); }}
            """
        )
        assert ("shared_bank_conflict" in kinds(result, "high")) is marked

    def test_atomics_of_all_threads_on_one_address_are_marked(self) -> None:
        assert "atomic_contention" in kinds(kernel("atomicAdd(&b[0], 1.0f);"))
        assert "atomic_contention" in kinds(kernel("atomicAdd(b, 1.0f);"))
        assert "atomic_contention" not in kinds(kernel("if (threadIdx.x == 0) atomicAdd(b, 1.0f);"))
        assert "atomic_contention" not in kinds(kernel("atomicAdd(&b[threadIdx.x], 1.0f);"))

    def test_missing_restrict_alone_does_not_make_findings(self) -> None:
        result = kernel("b[threadIdx.x] = a[threadIdx.x];")
        assert (result.status, kinds(result)) == ("clean", {"missing_restrict"})


def test_launches_that_cannot_work_are_marked() -> None:
    result = read(
        """
        __global__ void k(float* p) { extern __shared__ float s[]; p[threadIdx.x] = s[threadIdx.x]; }
        void f(float* p) { k<<<1, dim3(64, 32)>>>(p); }
        """
    )
    assert {"missing_dynamic_shared", "block_too_large"} <= kinds(result, "high")


def test_an_empty_source_is_not_parsed_and_says_what_to_send() -> None:
    result = read("  \n")
    assert (result.status, result.reason) == ("not_parsed", "The source is empty; send CUDA C++ text.")


@pytest.mark.parametrize("hostile", ["(" * 20_000, "{" * 20_000, "p[" * 5_000, "\x00" * 100, "\ud800", "<<<" * 3000])
def test_hostile_sources_are_answered(hostile: str) -> None:
    assert read(hostile).status in {"not_parsed", "clean"}


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_answered_and_places_lie_inside_it(text: str) -> None:
    result = read(f"__global__ void k(float* p, int n) {{ {text} }}")
    lines = f"__global__ void k(float* p, int n) {{ {text} }}".count("\n") + 1
    assert all(1 <= (s.place.line or 1) <= lines for s in result.suspicions)
