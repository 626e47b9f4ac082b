"""Machine code in figures: recorded listings of nvdisasm, and any text."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.tools.sass import access_bits, decode, decode_text, view

LISTING = (Path(__file__).parent / "data/nvdisasm-13.5/probe.sass").read_text("utf-8")
HOPPER = """
//--------------------- .text.mma --------------------------
	.section	.text.mma,"ax",@progbits
.text.mma:
	//## File "/src/candidate.cu", line 4
        /*0000*/                   UTMALDG.2D [UR8], [UR4], desc[UR6] ;
        /*0010*/              @!P0 LDGSTS.E.BYPASS.LTC128B.128 [R5], desc[UR4][R2.64] ;
	//## File "/src/candidate.cu", line 5 inlined at "/src/candidate.cu", line 9
        /*0020*/                   WARPGROUP.ARRIVE ;
        /*0030*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8], R24, !UPT ;
        /*0040*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8], R24, gsb0 ;
        /*0050*/                   HFMA2.MMA R2, -RZ, RZ, 0.2, 0.2 ;
        /*0060*/                   HFMA2 R2, R3, R4, R5 ;
        /*0070*/                   NOP;
	.section	.nv.info,"",@"SHT_CUDA_INFO"
        /*0080*/                   FADD R1, R2, R3 ;
"""


@pytest.fixture(scope="module")
def kernels():
    return {
        symbol: view(symbol, found, show_file=lambda path: path.rpartition("/")[2]) for symbol, found in decode(LISTING)
    }


def test_vector_widths_of_loads_and_stores_are_counted(kernels):
    stream = kernels["_Z10stream_addPK6float4S1_PS_i"]
    assert stream.access_bits == {"global_load": {"128": 2}, "global_store": {"128": 1}}
    assert stream.lines == ()  # nothing narrow, nothing local
    transpose = kernels["_Z18transpose_conflictPKfPfi"]
    assert transpose.access_bits["shared_load"] == {"32": 4}
    assert {line.line: line.narrow_accesses for line in transpose.lines} == {22: 4, 25: 4}


def test_the_mix_has_the_words_of_the_profile(kernels):
    stream = kernels["_Z10stream_addPK6float4S1_PS_i"]
    assert stream.instructions == 24
    assert sum(stream.instruction_mix.values()) == 24
    assert (
        stream.instruction_mix["fp32"],
        stream.instruction_mix["load_global"],
        stream.instruction_mix["store_global"],
    ) == (4, 2, 1)
    assert kernels["_Z17histogram_atomicsPKfPii"].instruction_mix["atomic"] == 1


def test_matrix_instructions_are_named_with_their_form(kernels):
    assert kernels["_Z9wmma_gemmPK6__halfS1_Pfi"].tensor == {"HMMA.16816.F32": 10}


def test_spills_are_found_at_their_lines(kernels):
    spilling = kernels["_Z8spillingPKfPfii"]
    assert (spilling.local_stores, spilling.local_loads) == (6, 6)
    assert sum(line.local_accesses for line in spilling.lines) == 12
    assert spilling.spilled is None


def test_warpgroup_matrix_instructions_and_copies_past_the_registers():
    ((symbol, found),) = decode(HOPPER)
    kernel = view(symbol, found, name="mma()", spilled=False)
    assert kernel.tensor == {"HGMMA.64x128x16.F32.BF16": 2}
    assert kernel.async_copies == {"UTMALDG": 1, "LDGSTS": 1}
    assert kernel.access_bits == {"async_copy": {"128": 1}}
    assert kernel.instruction_mix == {"control": 1, "fp16": 1, "load_global": 2, "other": 1, "tensor": 2}
    assert (kernel.instructions, kernel.spilled) == (7, False)
    assert {(one.file, one.line) for one in found[3:]} == {("/src/candidate.cu", 5)}


INLINED = """
.text.k:
	//## File "/cuda/include/atomics.h", line 107 inlined at "/src/candidate.cu", line 5
	//## File "/src/candidate.cu", line 5 inlined at "/src/candidate.cu", line 9
	//## File "/src/candidate.cu", line 9
        /*0000*/                   REDG.E.ADD.STRONG.GPU desc[UR4][R4.64], R7 ;
	//## File "/src/candidate.cu", line 12
        /*0010*/                   EXIT ;
"""


def test_inlined_code_belongs_to_the_innermost_line_of_the_readers_own_source():
    ((_, found),) = decode(INLINED, lambda path: path == "/src/candidate.cu")
    assert [(one.file, one.line) for one in found] == [("/src/candidate.cu", 5), ("/src/candidate.cu", 12)]
    ((_, found),) = decode(INLINED)
    assert (found[0].file, found[0].line) == ("/cuda/include/atomics.h", 107)


def test_one_instruction_as_a_profiler_shows_it():
    one = decode_text(32, "@!P0 LDG.E.64.CONSTANT R2, desc[UR4][R2.64]", "f", 3)
    assert one is not None
    assert (one.opcode, one.kind, access_bits(one)) == ("LDG", "load_global", ("global_load", 64))
    assert decode_text(0, "= R1") is None
    byte = decode_text(0, "LDG.E.U8 R2, [R2]")
    assert byte is not None
    assert access_bits(byte) == ("global_load", 8)


@given(st.text())
def test_any_text_is_read(text):
    for symbol, found in decode(f".text.k:\n{text}"):
        kernel = view(symbol, found)
        assert kernel.instructions == sum(kernel.instruction_mix.values())
