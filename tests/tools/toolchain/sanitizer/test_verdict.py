"""The tool's own failure is never read as clean."""

import pytest

from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.sanitizer.context import Context
from cudanalyst.tools.toolchain.sanitizer.log import read_log
from cudanalyst.tools.toolchain.sanitizer.places import AddressBook, Allocation
from cudanalyst.tools.toolchain.sanitizer.verdict import interpret

CONTEXT = Context(PathNames("candidate.cu", {}))
EMPTY = b'<?xml version="1.0" encoding="utf-8"?>\n<ComputeSanitizerOutput/>\n'
RECORD = b"<record><kind>Synccheck</kind><what><text>Barrier error</text><type>Divergent thread(s) in warp</type></what></record>"
ONE = EMPTY.replace(b"/>", b">" + RECORD + b"</ComputeSanitizerOutput>")


def log(*lines: str) -> bytes:
    return "".join(f"========= {line}\n" for line in ("COMPUTE-SANITIZER", *lines)).encode()


CLEAN = log("ERROR SUMMARY: 0 errors")


def test_a_whole_run_without_errors_is_clean() -> None:
    verdict = interpret("memcheck", EMPTY, CLEAN, CONTEXT)
    assert (verdict.findings, verdict.broken, verdict.stopped, verdict.note) == ((), None, None, None)


@pytest.mark.parametrize(
    ("xml", "text", "said"),
    [
        (None, CLEAN, "no file of records"),
        (b"", CLEAN, "empty"),
        (EMPTY[:-8], CLEAN, "truncated"),
        (EMPTY, None, "did not start"),
        (EMPTY, b"", "did not start"),
        (EMPTY, log(), "ended before its summary"),
        (EMPTY, log("ERROR SUMMARY: 1 error"), "counts 1 error, but"),
        (EMPTY, log("ERROR SUMMARY: 2 errors"), "counts 2 errors, but"),
        (EMPTY, log("RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)"), "counts 1 error, but"),
        (EMPTY, log("Error: No attachable process found. compute-sanitizer timed-out.", "ERROR SUMMARY: 0 errors"), "did not start in time"),
        (EMPTY, log("Unable to find injection library libsanitizer-collection.so"), "reinstall compute-sanitizer"),
        (EMPTY, log("Device not supported. Please refer to the documentation", "ERROR SUMMARY: 0 errors"), "not supported by this version"),
        (EMPTY, log("Target application terminated before first instrumented API call"), "no GPU is visible"),
        (EMPTY, log("Target application doesn't exist or is not a valid executable"), "doesn't exist"),
        (EMPTY, log("Internal Sanitizer Error: Initialization failed", "ERROR SUMMARY: 0 errors"), "Initialization failed"),
        (EMPTY, log("Failed to write report file x", "ERROR SUMMARY: 0 errors"), "Failed to write"),
        (EMPTY, log("ERROR SUMMARY: 0 errors", "7 errors were skipped (error buffer overflow)."), "no room for 7 errors"),
    ],
)  # fmt: skip
def test_a_run_that_is_not_whole_is_not_clean_and_says_why(xml, text, said) -> None:
    verdict = interpret("memcheck", xml, text, CONTEXT)
    assert said in (verdict.broken or "")


def test_an_internal_error_among_the_records_is_the_tools_failure() -> None:
    xml = ONE.replace(
        RECORD, b"<record><kind>Internal</kind><what><text>Internal Sanitizer Error</text></what></record>"
    )
    verdict = interpret("memcheck", xml, log("ERROR SUMMARY: 1 error"), CONTEXT)
    assert "Internal Sanitizer Error" in (verdict.broken or "")
    assert verdict.findings == ()


def test_findings_of_a_truncated_file_stand_beside_the_failure() -> None:
    verdict = interpret("synccheck", ONE[:-10], log("ERROR SUMMARY: 1 error"), CONTEXT)
    assert [finding.kind for finding in verdict.findings] == ["divergent_barrier"]
    assert "truncated" in (verdict.broken or "")


@pytest.mark.parametrize(
    ("text", "errors", "not_printed"),
    [
        ("ERROR SUMMARY: 1 error", 1, 0),
        ("ERROR SUMMARY: 1,234 errors", 1234, 0),
        ("ERROR SUMMARY: 128 errors\n========= ERROR SUMMARY: 118 errors were not printed. Use --print-limit option", 128, 118),
        ("ERROR SUMMARY: 3 errors\n========= ERROR SUMMARY: 1 error was not printed. Use --print-limit option", 3, 1),
        ("RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)", 1, 0),
        ("RACECHECK SUMMARY: 20 hazards displayed (513 errors, 0 warnings)", 513, 493),
        ("LEAK SUMMARY: 0 bytes leaked in 0 allocations\n========= ERROR SUMMARY: 0 errors", 0, 0),
    ],
)  # fmt: skip
def test_summaries_in_the_singular_and_the_plural(text, errors, not_printed) -> None:
    read = read_log(log(text))
    assert (read.errors, read.not_printed, read.tool_errors) == (errors, not_printed, ())


def test_a_report_of_a_race_is_no_failure_of_the_tool() -> None:
    text = log(
        "Error: Race reported between Write access at k", "RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)"
    )
    assert read_log(text).tool_errors == ()


def test_addresses_are_named_by_the_nearest_allocation() -> None:
    book = AddressBook((Allocation("x", 0x10_0000, 4096), Allocation("y", 0x20_0000, 100)))
    shown = {address: book.place(address) for address in (0x10_0000, 0x10_1000, 0x10_1010, 0x1F_FFFC, 0x20_0004, 16)}
    assert [place.text for place in shown.values()] == [
        "x[4096 B] + 0", "x[4096 B] + 4096", "x[4096 B] + 4112", "y[100 B] - 4", "y[100 B] + 4", "0x10",
    ]  # fmt: skip
    assert shown[0x10_1000].remark == ", just past the end of the allocation"
    assert shown[0x10_1010].remark == ", 16 bytes past the end of the nearest allocation"
    assert shown[0x1F_FFFC].remark == ", 4 bytes before the nearest allocation"
    assert "null pointer" in shown[16].remark
