from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.tools.toolchain.arch import Arch
from cudanalyst.tools.toolchain.ptxas import PtxMap, kernel_resources, parse_resources, read_ptx

OUTPUT = """ptxas info    : 0 bytes gmem, 24 bytes cmem[4]
ptxas info    : Compiling entry function '_Z1hPf' for 'sm_90'
ptxas info    : Function properties for _Z1hPf
    1200 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers, 1200 bytes cumulative stack size
ptxas info    : Compile time = 64.304 ms
ptxas info    : Function properties for _Z6helperv
    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function '_Z1kPfPKfi' for 'sm_90'
ptxas info    : Function properties for _Z1kPfPKfi
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 30 registers, used 1 barriers, 264 bytes smem, 360 bytes cmem[0], 16 bytes cmem[2]
"""


def resources(ptx=None, doubles=frozenset()):
    return kernel_resources(parse_resources(OUTPUT), {"_Z1hPf": "h(float*)"}, ptx or PtxMap(), set(doubles), Arch(90))


def test_every_kernel_has_its_own_figures():
    h, k = resources(doubles={"_Z1kPfPKfi"})
    assert (h.name, h.registers, h.stack_bytes, h.spill_store_bytes, h.spill_load_bytes) == (
        "h(float*)",
        24,
        1200,
        12,
        16,
    )
    assert (k.name, k.registers, k.stack_bytes, k.shared_bytes, k.constant_bytes, k.barriers) == (
        "_Z1kPfPKfi",
        30,
        0,
        264,
        376,
        1,
    )
    assert (h.uses_double, k.uses_double) == (False, True)


def test_occupancy_is_told_for_common_blocks_or_the_stated_one():
    h, k = resources(PtxMap(block_threads={"_Z1kPfPKfi": 96}))
    assert [row.block_threads for row in h.occupancy] == [128, 256, 512, 1024]
    assert [row.block_threads for row in k.occupancy] == [96]


def test_ptx_lines_lead_to_source_lines_within_the_same_kernel():
    ptx = read_ptx(
        '.file 1 "/x/program.cu"\n.visible .entry a(\n)\n.maxntid 16, 8, 1\n{\n.loc 1 7 3\nx;\n}\n.entry b(\n){\ny;\n.loc 1 9 1\n}',
        "program.cu",
    )
    assert ptx.source_of(7) == ("/x/program.cu", 7)
    assert ptx.source_of(11) is None
    assert (ptx.entry_of(7), ptx.entry_of(11), ptx.entry_of(1)) == ("a", "b", None)
    assert ptx.start_of("b") == ("/x/program.cu", 9)
    assert ptx.block_threads == {"a": 128}


@given(st.text(alphabet=st.sampled_from(".locentryfile 0123456789\n\"(){}ptxasinfo:'"), max_size=300))
def test_damaged_text_is_survived(text):
    assert isinstance(read_ptx(text, "candidate.cu"), PtxMap)
    assert isinstance(parse_resources(text), list)
