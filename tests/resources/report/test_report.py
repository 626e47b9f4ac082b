"""The HTML report, its JSON, and the tables for a terminal."""

import io
import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from cudanalyst.errors import StoreError
from cudanalyst.resources.attribution import game
from cudanalyst.resources.attribution.attribute import attribute
from cudanalyst.resources.attribution.ground_truth import compare
from cudanalyst.resources.attribution.table import Observation
from cudanalyst.resources.report.data import CheckpointRow, ComponentCost, Method, ReportData
from cudanalyst.resources.report.page import render_html, write_report
from cudanalyst.resources.report.terminal import render_terminal
from cudanalyst.resources.report.text import abbreviations, shorten, signed

VOID = {"meta", "br", "img", "link", "input", "hr"}


def value(coalition, level):
    passed = 0.15 + 0.3 * ("analyzer" in coalition) + 0.2 * ("debugger" in coalition)
    return {
        "compiled": passed + 0.2,
        "passed": passed,
        "fast_modelled": passed * (0.3 + 0.5 * ("profiler" in coalition)),
    }[level]


def sample(players=("analyzer", "debugger", "profiler"), problems=2, repeats=4, title="Demo", **more):
    rng = np.random.default_rng(0)
    coalitions = [game.members(mask, players) for mask in range(1 << len(players))]
    seen = {level: [] for level in ("compiled", "passed", "fast_modelled")}
    truth = {level: {} for level in seen}
    for g in range(problems):
        for level, table in truth.items():
            table[f"problem_{g}", f"chk_{g}"] = np.array([value(some, level) for some in coalitions])
        for r in range(repeats):
            for some in coalitions:
                draw = rng.random()
                for level, rows in seen.items():
                    rows.append(
                        Observation(
                            problem=f"problem_{g}",
                            checkpoint=f"chk_{g}",
                            block=r,
                            coalition=some,
                            success=bool(draw < value(some, level)),
                        )
                    )
    found = attribute(
        seen,
        players,
        ceilings={"compiled": {"chk_0"}},
        structural={"chk_1": ["profiler"]} if "profiler" in players else {},
        infrastructure_failed={("chk_0", ()): 1},
        contaminated=1,
    )
    given_ = {
        "checkpoints": tuple(
            CheckpointRow(id=f"chk_{g}", problem=f"problem_{g}", base_status="compile_failed") for g in range(problems)
        ),
        "ground_truth": compare(found, planted=truth, enumerated=truth),
        "costs": (ComponentCost(component="analyzer", evidence_tokens=500, total_tokens=12000),),
        "versions": {"cudanalyst": "0.1.0"},
    }
    method = Method(planner="scripted", coder="scripted", repeats=repeats, seed=7)
    return ReportData(title=title, attribution=found, method=method, **{**given_, **more})


class Page(HTMLParser):
    """Checks that tags nest, and gathers what tests ask for."""

    def __init__(self):
        super().__init__()
        self.stack, self.ids, self.tags, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [given for name, given in attrs if name == "id"]
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [given for name, given in attrs if name == "id"]

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if "style" not in self.stack:
            self.text.append(data)


def parsed(html):
    page = Page()
    page.feed(html)
    page.close()
    assert page.stack == []
    return page


@pytest.fixture(scope="module")
def html():
    return render_html(sample())


def test_the_page_is_well_formed_and_its_ids_are_unique(html):
    page = parsed(html)
    assert len(page.ids) == len(set(page.ids))
    assert {f"#{one}" for one in page.ids} >= set(re.findall(r'xlink:href="(#[^"]+)"', html))
    headings = [attributes["aria-labelledby"] for tag, attributes in page.tags if tag == "section"]
    assert set(headings) <= set(page.ids)


def test_the_page_needs_no_network_and_no_script(html):
    page = parsed(html)
    assert not {"script", "link", "iframe", "img"} & {tag for tag, _ in page.tags}
    assert set(re.findall(r"https?://[^\"' )]+", html)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert "default-src 'none'" in html
    assert "@import" not in html


def test_every_plot_has_an_accessible_name_and_a_table_with_its_numbers(html):
    plots = [a for tag, a in parsed(html).tags if tag == "svg" and "plot" in (a.get("class") or "")]
    # One forest; lattice, graph and problems at each of three levels.
    assert len(plots) == 1 + 3 * 3
    assert all(plot["role"] == "img" and len(plot["aria-label"]) > 40 for plot in plots)
    assert len(re.findall(r'<svg class="plot"[^>]*><title>[^<]+</title>', html)) == len(plots)
    assert html.count("<table") >= 1 + 3 * 3


def test_plots_are_xml_and_take_every_colour_from_the_theme(html):
    for plot in re.findall(r'<svg class="plot".*?</svg>', html, flags=re.DOTALL):
        ET.fromstring(plot)
        assert not re.findall(r"(?:fill|stroke): #(?!none)[0-9a-f]{6}", plot)
        assert "fe01" not in plot
    names = set(re.findall(r"var\((--[a-z0-9-]+)\)", html))
    for scheme in names - {"--v"}:
        assert f"{scheme}:" in html


def test_dark_and_light_define_the_same_colours(html):
    light, dark = html.split("@media (prefers-color-scheme: dark)")[:2]
    dark = dark[: dark.index("}\n}")]
    assert set(re.findall(r"(--[a-z0-9-]+):", light)) == set(re.findall(r"(--[a-z0-9-]+):", dark))


def test_the_headline_comes_first_and_counts_are_shown(html):
    text = " ".join(" ".join(parsed(html).text).split())
    assert (
        text.index("What helps, and how sure") < text.index("Effect of each component") < text.index("Level: compiled")
    )
    assert "64 trials" in text
    assert re.search(r"\d+ / 8", text)
    assert "Changing nothing would succeed with probability 0.50" in text


def test_methods_say_what_was_done_and_which_intervals_were_used(html):
    text = " ".join(" ".join(parsed(html).text).split())
    methods = text[text.index("What exactly was done") :]
    for words in (
        "2 program states of 2 problems",
        "8 coalitions",
        "4 times",
        "seed 7",
        "MOVER",
        "1 contaminated",
        "nested",
    ):
        assert words in methods
    assert "population of problems:" not in methods


def test_an_open_experiment_says_that_effects_are_of_assignment():
    method = Method(planner="agent", coder="agent", repeats=4, open=True)
    text = render_html(sample().model_copy(update={"method": method}))
    assert "effects are of assigning a component" in text


def test_fast_is_never_said_of_modelled_speed_without_modelled(html):
    text = " ".join(" ".join(parsed(html).text).split())
    text += " ".join(str(a.get("aria-label")) for _, a in parsed(html).tags)
    assert "fast (modelled)" in text
    assert not re.findall(r"\bfast\b(?! \(modelled\))(?!_modelled)", text, flags=re.IGNORECASE)


HOSTILE = "<script>alert(1)</script>\"'&$x^2$\x00\x1b]0;"


def test_text_from_outside_is_escaped_everywhere():
    players = (f"a{HOSTILE}", "b<b>")
    seen = [
        Observation(problem=f"p{HOSTILE}{g}", checkpoint=HOSTILE + str(g), block=r, coalition=some, success=bool(r % 2))
        for g in range(2)
        for r in range(3)
        for some in [(), *((p,) for p in players), players]
    ]
    data = ReportData(
        title=HOSTILE,
        attribution=attribute({f"level{HOSTILE}": seen}, players, ceilings={f"level{HOSTILE}": {HOSTILE + "0"}}),
        method=Method(planner=HOSTILE, coder=HOSTILE, repeats=3, measured_on=HOSTILE, extra=(HOSTILE,)),
        experiment=HOSTILE,
        created=HOSTILE,
        checkpoints=(CheckpointRow(id=HOSTILE, problem=HOSTILE, base_status="wrong", placebos=(HOSTILE,)),),
        costs=(ComponentCost(component=HOSTILE),),
        versions={HOSTILE: HOSTILE},
    )
    html = render_html(data)
    page = parsed(html)
    assert not {"script", "b>"} & {tag for tag, _ in page.tags}
    assert "<script" not in html
    for plot in re.findall(r'<svg class="plot".*?</svg>', html, flags=re.DOTALL):
        ET.fromstring(plot)
    assert "alert(1)" in "".join(page.text)
    assert "\x00" not in html
    assert "\x1b" not in html


@settings(max_examples=8, deadline=None)
@given(st.text(min_size=1, max_size=30), st.text(min_size=1, max_size=30))
def test_any_names_render_to_a_well_formed_page(player, problem):
    players = (player, player + "2")
    seen = [
        Observation(problem=problem, checkpoint="c", block=r, coalition=some, success=r > 0)
        for r in range(2)
        for some in [(), players[:1], players[1:], players]
    ]
    method = Method(planner="p", coder="c", repeats=2)
    page = parsed(
        render_html(ReportData(title=problem, attribution=attribute({"passed": seen}, players), method=method))
    )
    assert len(page.ids) == len(set(page.ids))


@pytest.mark.parametrize("players", [("a",), ("a", "b"), tuple("abcd"), tuple("abcdef")])
def test_any_number_of_players_renders(players):
    html = render_html(sample(players=players, problems=1, repeats=1))
    # Six players would make a lattice that nobody can read; its table stays.
    assert ("lattice-passed" in html) == (len(players) < 6)
    parsed(html)


def test_a_report_before_any_trial_says_so():
    found = attribute({"compiled": [], "passed": []}, ("analyzer", "debugger"))
    html = render_html(ReportData(title="Empty", attribution=found, method=Method(planner="p", coder="c", repeats=1)))
    assert "No trial has been evaluated yet" in html
    assert "no trial yet" in html
    parsed(html)


def test_a_half_run_experiment_shows_what_there_is():
    seen = [
        Observation(problem="p", checkpoint="c", block=0, coalition=some, success=True) for some in [(), ("analyzer",)]
    ]
    found = attribute({"passed": seen}, ("analyzer", "debugger"))
    html = render_html(ReportData(title="Half", attribution=found, method=Method(planner="p", coder="c", repeats=1)))
    assert "No checkpoint has a trial in every cell yet" in html
    parsed(html)


def test_rendering_is_pure():
    assert render_html(sample()) == render_html(sample())


def test_the_report_is_written_as_html_and_json_that_reads_back(tmp_path):
    data = sample()
    html, numbers = write_report(data, tmp_path / "new" / "folder")
    assert html.read_text(encoding="utf-8") == render_html(data)
    assert ReportData.model_validate(json.loads(numbers.read_text(encoding="utf-8"))) == data
    assert sorted(path.name for path in html.parent.iterdir()) == ["report.html", "report.json"]


def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="choose another folder"):
        write_report(sample(), tmp_path / "file")


def shown(data, width=140):
    console = Console(file=io.StringIO(), width=width)
    console.print(render_terminal(data.attribution))
    return console.file.getvalue()


def test_the_terminal_shows_values_with_counts_effects_with_intervals_and_pairs():
    text = shown(sample())
    assert re.search(r"no evidence +│ +\d\.\d\d \(\d+/8\)", text)
    assert re.search(r"analyzer +│ +\+\d\.\d\d \([+−]\d\.\d\d to", text)  # noqa: RUF001 - typographic minus
    assert "Pairwise interactions, fast (modelled)" in text
    assert "analyzer x debugger" in text
    assert "Banzhaf values do not add up" in text
    assert "changing nothing" in text
    assert not re.search(r"\bfast\b(?! \(modelled\))", text)


def test_the_terminal_takes_names_literally_and_strips_control_characters():
    players = ("[red]a\x1b[2J", "b")
    seen = [Observation(problem="p", checkpoint="c", block=0, coalition=(), success=True)]
    data = ReportData(
        title="x", attribution=attribute({"passed": seen}, players), method=Method(planner="p", coder="c", repeats=1)
    )
    text = shown(data)
    assert "[red]a" in text
    assert "\x1b" not in text


def test_numbers_and_names_are_written_for_readers():
    assert (signed(0.123), signed(-0.5), signed(-0.001)) == ("+0.12", "−0.50", "0.00")  # noqa: RUF001 - minus
    assert abbreviations(["analyzer", "debugger", "compiler", "cooler"]) == {
        "analyzer": "A",
        "debugger": "D",
        "compiler": "Com",
        "cooler": "Coo",
    }
    assert shorten("a\nlong name", 6) == "a lon…"
