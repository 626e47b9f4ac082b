"""The HTML report, its files, and the tables for a terminal."""

import base64
import csv
import io
import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from cudanalyst.errors import StoreError
from cudanalyst.resources.attribution.analysis import analyse
from cudanalyst.resources.attribution.ground_truth import compare
from cudanalyst.resources.attribution.plan import AnalysisPlan, Claim, Stopping
from cudanalyst.resources.attribution.published import replicate
from cudanalyst.resources.report.data import CheckpointRow, ComponentCost, LockFacts, Method, ReportData
from cudanalyst.resources.report.page import render_html, report_files, write_report
from cudanalyst.resources.report.palette import DARK, LIGHT, css
from cudanalyst.resources.report.terminal import render_terminal
from cudanalyst.resources.report.text import abbreviations, shorten, signed, signed3
from cudanalyst.resources.report.view import attribution_of, leads
from tests.resources.report.experiments import PLAYERS, report, rows

VOID = {"meta", "br", "img", "link", "input", "hr"}
NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


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

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


def parsed(html):
    page = Page()
    page.feed(html)
    page.close()
    assert page.stack == []
    return page


def plots_of(html):
    return re.findall(r'<svg class="plot".*?</svg>', html, flags=re.DOTALL)


@pytest.fixture(scope="module")
def data():
    """One planner, one generation, and what spoils trials."""
    return report(rows(problems=4, spoiled=2), AnalysisPlan(levels=("compiled", "passed", "fast_modelled")))


@pytest.fixture(scope="module")
def small():
    """As little as gives a page with every plot of one level."""
    return report(rows(problems=2, repeats=1), AnalysisPlan(levels=("passed",)))


@pytest.fixture(scope="module")
def html(data):
    return render_html(data)


PLAN = AnalysisPlan(
    levels=("compiled", "passed", "fast_modelled", "fast", "score_modelled"),
    claims=(
        Claim(name="The analyzer drives compiling", kind="positive", players=("analyzer",), level="compiled"),
        Claim(name="Planning needs aligned feedback", kind="regime_positive", regime="P+F", against="RF"),
    ),
)


@pytest.fixture(scope="module")
def everything():
    """Two planners, two regimes, two generations, sentinels, a lock with a deviation, the paper's estimator, measured times."""
    trials = rows(
        problems=5, generations=(1, 5), planners=("strong", "weak"), regimes=("P+F", "RF"), repeats=2,
        sentinels=True, measured=True,
    )  # fmt: skip
    return report(
        trials,
        PLAN,
        lock=LockFacts(digest="ab" * 32, locked_at="2026-01-01", deviations=("repeats: 4 locked, 2 run",)),
        replication=replicate(trials, PLAN),
    )


@pytest.fixture(scope="module")
def whole(everything):
    return render_html(everything)


@pytest.mark.parametrize("which", ["html", "whole"])
def test_the_page_is_well_formed_and_its_ids_are_unique(which, request):
    text = request.getfixturevalue(which)
    page = parsed(text)
    assert len(page.ids) == len(set(page.ids))
    assert {f"#{one}" for one in page.ids} >= set(re.findall(r'href="(#[^"]+)"', text))
    named = [one["aria-labelledby"].split() for _, one in page.tags if "aria-labelledby" in one]
    assert {name for names in named for name in names} <= set(page.ids)


def test_the_page_needs_no_network_and_no_script(whole):
    page = parsed(whole)
    assert not {"script", "link", "iframe", "img"} & {tag for tag, _ in page.tags}
    assert set(re.findall(r"https?://[^\"' )]+", whole)) <= NAMESPACES
    assert "default-src 'none'" in whole
    assert "@import" not in whole
    assert {one["href"].partition(":")[0] for tag, one in page.tags if tag == "a" and one["href"][0] != "#"} == {"data"}


def test_every_plot_has_a_title_a_description_and_a_table_beside_it(whole):
    plots = plots_of(whole)
    # Forest, speedup, trajectory, effects by generation, planners, regimes, cost; lattice, graph, problems at four levels.
    assert len(plots) == 7 + 3 * 4
    for plot in plots:
        root = ET.fromstring(plot)
        space = "{http://www.w3.org/2000/svg}"
        title, desc = root.find(f"{space}title"), root.find(f"{space}desc")
        assert root.get("role") == "img"
        assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
        assert len(title.text) > 10
        assert re.search(r"\d\.\d\d", desc.text)
    assert whole.count("<table") >= len(plots)


def test_plots_take_every_colour_from_the_theme(whole):
    for plot in plots_of(whole):
        assert not re.findall(r"(?:fill|stroke): #(?!none)[0-9a-f]{6}", plot)
        assert "fe01" not in plot
    names = set(re.findall(r"var\(--([a-z0-9-]+)\)", whole)) - {"v", "c"}
    assert names <= set(LIGHT)
    assert set(LIGHT) == set(DARK)
    assert all(f"--{name}: {DARK[name]};" in css() and f"--{name}: {LIGHT[name]};" in css() for name in LIGHT)


def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [LIGHT, DARK])
def test_text_can_be_read_on_every_background_in_both_schemes(scheme):
    for role in (
        "ink",
        "soft",
        "up",
        "down",
        "truth",
        *(f"level{k}" for k in range(6)),
        *(f"who{k}" for k in range(6)),
    ):
        least = 4.5 if role in {"ink", "soft", "up", "down"} else 3.0
        assert contrast(scheme[role], scheme["card"]) >= least, role
        assert contrast(scheme[role], scheme["paper"]) >= least, role
    for step in range(11):
        assert contrast(scheme["on-hi" if step > 5 else "on-lo"], scheme[f"seq{step}"]) >= 4.3, step
        assert contrast(scheme["on-hi" if abs(step - 5) > 2 else "on-lo"], scheme[f"div{step}"]) >= 4.3, step


def test_the_short_answer_comes_first_and_counts_are_shown(data, html):
    words = parsed(html).words
    assert (
        words.index("What helps, and how sure")
        < words.index("Effect of each component")
        < words.index("Level: compiled")
    )
    assert f"{data.analysis.trials} trials" in words
    assert "Changing nothing would succeed with probability" in words
    assert re.search(r"\d+ / 16", words)


def test_everything_that_was_run_has_its_section(whole):
    headings = re.findall(r'<h2 id="[^"]+">([^<]+)</h2>', whole)
    assert headings == [
        "What helps, and how sure",
        "Effect of each component",
        "Level: compiled",
        "Level: passed",
        "Level: fast (modelled)",
        "Level: fast (measured)",
        "Over the generations",
        "Planners compared",
        "Regimes compared",
        "Every other condition",
        "The paper's estimator beside the corrected one",
        "What it costs, and what it brings",
        "What was fixed before",
        "What is not counted",
        "Checkpoints",
        "What exactly was done",
        "Versions",
        "Take the numbers along",
    ]


def test_claims_deviations_drift_and_the_family_are_told(whole):
    words = parsed(whole).words
    assert "The analyzer drives compiling" in words
    assert re.search(r"(shown|cannot be tested) strong", words)
    assert "went another way than its lock in 1 point" in words
    assert "repeats: 4 locked, 2 run" in words
    assert "Drift of the sentinels" in words
    assert "Primary family, not tested together" in words


def test_both_targets_are_told_apart_in_plot_and_table(everything, whole):
    assert "population of problems" in whole
    effect = next(e for part in everything.analysis.slices for e in part.effects if len(e.intervals) == 2)
    assert {one.target for one in effect.intervals} == {"these problems", "population of problems"}
    forest = next(plot for plot in plots_of(whole) if 'aria-labelledby="forest-title' in plot)
    marks = 3 * 4  # components at levels, each with a thick line and a thin one with two caps
    assert forest.count("stroke-width: 3.2") == marks
    assert len(re.findall(r"<path[^>]*fill: none", forest)) >= 4 * marks


def test_methods_say_what_was_done_with_counts_seeds_versions_and_the_lock(everything, whole):
    words = parsed(whole).words
    methods = words[words.index("What exactly was done") :]
    for said in (
        "10 program states of 5 problems, of 2 generations (1, 5)",
        "5 runs: run-0 (eoh)",
        "Each of the 8 coalitions",
        "seed 7",
        "RF, a plan made on evidence of another state",
        "Planner: strong, weak. Coder: strong, weak.",
        "strong-model@fp1",
        f"{everything.analysis.trials} evaluated trials",
        "8 sentinels",
        "95 % intervals for the population of problems",
        "Claims were decided at 0.05",
        f"Analysis version {everything.analysis.plan.version}",
        "ab" * 32,
        "1 deviation from it",
    ):
        assert said in methods, said


def test_an_open_experiment_says_that_effects_are_of_assignment(small):
    method = small.method.model_copy(update={"open": True})
    assert "effects are of assigning a component" in render_html(small.model_copy(update={"method": method}))


def test_fast_is_never_said_of_modelled_speed_without_modelled(html):
    page = parsed(html)
    assert "fast (modelled)" in page.words
    said = page.words.replace("compiled, passed and fast are nested", "").replace("measured for fast, score", "")
    assert not re.findall(r"\bfast\b(?! \(modelled\))(?!_modelled)", said, flags=re.IGNORECASE)


def downloaded(html):
    links = {one["download"]: one["href"] for tag, one in parsed(html).tags if tag == "a" and "download" in one}
    return {name: base64.b64decode(address.partition("base64,")[2]) for name, address in links.items()}


def test_numbers_can_be_taken_from_the_page_and_are_the_ones_that_it_shows(data, html):
    files = downloaded(html)
    assert set(files) == {"numbers.csv", "numbers.json", "trials.csv"}
    numbers = list(csv.DictReader(io.StringIO(files["numbers.csv"].decode())))
    words = parsed(html).words
    part = data.analysis.slice_of("passed")
    for effect in part.effects:
        if effect.index != "banzhaf":
            continue
        (row,) = [
            one
            for one in numbers
            if (one["estimand"], one["players"], one["level"], one["generation"], one["problem"], one["stratum"])
            == ("banzhaf", effect.players[0], "passed", "", "", "")
            and one["target"] == "these problems"
            and one["scale"] == "probability"
        ]
        assert float(row["value"]) == effect.value
        assert f"{signed(effect.value)} {signed(float(row['low']))} to {signed(float(row['high']))}" in words
    for value in part.values:
        assert f"{value.value:.2f} {value.intervals[0].low:.2f} to {value.intervals[0].high:.2f}" in words
    assert len(list(csv.DictReader(io.StringIO(files["trials.csv"].decode())))) == len(data.rows)


def test_files_too_large_for_the_page_stand_beside_it(small, monkeypatch):
    monkeypatch.setattr("cudanalyst.resources.report.downloads.MOST_EMBEDDED", 1000)
    html = render_html(small)
    assert downloaded(html) == {}
    assert "too large for the page" in parsed(html).words


HOSTILE = "<script>alert(1)</script>\"'&$x^2$\x00\x1b]0;"


def test_text_from_outside_is_escaped_everywhere():
    players = (f"a{HOSTILE}", "b<b>")
    trials = [
        one.model_copy(update={"problem": f"p{HOSTILE}{one.problem}", "planner": HOSTILE + one.planner, "backbone": HOSTILE, "model": HOSTILE})
        for one in rows(players=players, problems=2, generations=(0, 1), planners=("p", "q"), regimes=("P+F", "RF"))
    ]  # fmt: skip
    claim = Claim(name=HOSTILE, kind="positive", players=(players[0],))
    made = report(
        trials,
        AnalysisPlan(claims=(claim,), levels=("passed", "fast_modelled")),
        title=HOSTILE,
        method=Method(planner=HOSTILE, coder=HOSTILE, repeats=3, measured_on=HOSTILE, extra=(HOSTILE,)),
        experiment=HOSTILE,
        created=HOSTILE,
        checkpoints=(
            CheckpointRow(
                id=HOSTILE, problem=HOSTILE, base_status="wrong", placebos=(HOSTILE,), backbone=HOSTILE, claims=HOSTILE
            ),
        ),
        costs=(ComponentCost(component=HOSTILE),),
        lock=LockFacts(digest=HOSTILE, locked_at=HOSTILE, deviations=(HOSTILE,)),
        versions={HOSTILE: HOSTILE},
    )
    html = render_html(made)
    page = parsed(html)
    assert not {"script", "b>"} & {tag for tag, _ in page.tags}
    assert "<script" not in html
    assert len(page.ids) == len(set(page.ids))
    for plot in plots_of(html):
        ET.fromstring(plot)
    assert "alert(1)" in page.words
    assert "\x00" not in html
    assert "\x1b" not in html


@settings(max_examples=4)
@given(st.text(min_size=1, max_size=30), st.text(min_size=1, max_size=30))
def test_any_names_render_to_a_well_formed_page(player, problem):
    players = tuple(sorted((player, player + "2")))
    trials = [one.model_copy(update={"problem": problem}) for one in rows(players=players, problems=1, repeats=1)]
    page = parsed(render_html(report(trials, title=problem)))
    assert len(page.ids) == len(set(page.ids))


@pytest.mark.parametrize("players", [("a",), ("a", "b"), tuple("abcd"), tuple("abcdef")])
def test_any_number_of_players_renders(players):
    html = render_html(report(rows(players=players, problems=1, repeats=1)))
    # Six players would make a lattice that nobody can read; its table stays.
    assert ("lattice-passed" in html) == (len(players) < 6)
    parsed(html)


def test_sampled_coalitions_show_how_the_estimates_settled():
    players = tuple("abcdefg")
    trials = rows(players=players, problems=2, repeats=1)[::3]
    html = render_html(report(trials, AnalysisPlan(levels=("passed",), coalitions="sampled")))
    words = parsed(html).words
    assert "How the estimates settled" in words
    assert "Coalitions of components were drawn at random" in words
    assert "no trial yet" not in words
    assert 'id="traces-title"' in html


def test_confidence_sequences_are_drawn_and_say_where_they_stand():
    plan = AnalysisPlan(levels=("passed",), stopping=Stopping(rule="confidence_sequence"))
    made = report(rows(problems=2, repeats=5), plan)
    html = render_html(made)
    (first, *_) = made.analysis.sequences
    last = first.points[-1]
    assert f"{last.rounds} {signed(last.estimate)} {signed(last.low)} to {signed(last.high)}" in parsed(html).words
    assert 'id="sequences-title"' in html


def test_a_page_may_go_without_its_numbers_and_says_where_they_are(small):
    html = render_html(small, carried=False)
    assert downloaded(html) == {}
    assert f"cudanalyst export {small.experiment} --format csv" in parsed(html).words
    assert len(html) < len(render_html(small))


def test_a_report_before_any_trial_says_so():
    found = analyse([], AnalysisPlan())
    html = render_html(ReportData(title="Empty", analysis=found, method=Method(planner="p", coder="c", repeats=1)))
    assert "No trial has been evaluated yet" in html
    assert plots_of(html) == []
    parsed(html)


def test_an_interim_report_says_how_many_trials_are_open(small):
    trials = list(small.rows)
    trials[0] = trials[0].model_copy(update={"state": "open", "compiled": None, "passed": None})
    words = parsed(render_html(report(trials, small.analysis.plan))).words
    assert "1 trial has no outcome" in words


def test_a_half_run_experiment_shows_what_there_is():
    trials = [one for one in rows(problems=1, repeats=1) if len(one.coalition) < 2]
    html = render_html(report(trials))
    assert "v(S): success with the evidence of S" in html
    assert "Banzhaf values" in html
    parsed(html)


def test_claims_of_other_systems_are_shown_as_claims(small):
    checkpoints = (CheckpointRow(id="chk_1", problem="p", base_status="wrong", claims="combined_score 0.9"),)
    words = parsed(render_html(small.model_copy(update={"checkpoints": checkpoints}))).words
    assert "claims of its run, not measured here" in words
    assert "combined_score 0.9" in words


def test_rendering_is_pure(small):
    assert render_html(small) == render_html(small)


def test_the_report_is_written_with_its_numbers_and_reads_back(small, tmp_path):
    html, numbers = write_report(small, tmp_path / "new" / "folder")
    assert html.read_text(encoding="utf-8") == render_html(small)
    back = ReportData.model_validate(json.loads(numbers.read_text(encoding="utf-8")))
    assert back == small.model_copy(update={"rows": ()})
    names = sorted(path.name for path in html.parent.iterdir())
    assert names == ["numbers.csv", "numbers.json", "report.html", "report.json", "trials.csv"]


def test_plots_come_as_files_of_their_own_that_need_no_page(small):
    files = report_files(small, plots=("svg", "png"))
    pictures = {name: content for name, content in files.items() if name.startswith("plots/")}
    assert len(pictures) == 2 * len(plots_of(files["report.html"].decode()))
    svg = pictures["plots/forest.svg"].decode()
    ET.fromstring(svg)
    assert "var(" not in svg
    assert LIGHT["ink"] in svg
    assert {">analyzer<", ">95 % interval, these problems<"} <= set(re.findall(r">[^<]+<", svg))
    assert pictures["plots/forest.png"].startswith(b"\x89PNG")
    assert report_files(small, plots=("svg", "png")) == files


def test_a_folder_that_cannot_be_written_is_a_clear_error(small, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="choose another folder"):
        write_report(small, tmp_path / "file")


def shown(attribution, width=140):
    console = Console(file=io.StringIO(), width=width)
    console.print(render_terminal(attribution))
    return console.file.getvalue()


def test_the_terminal_shows_values_with_counts_effects_with_intervals_and_pairs(data):
    text = shown(attribution_of(data.analysis, leads(data.analysis)[0]))
    assert re.search(r"no evidence +│ +\d\.\d\d \(\d+/1[56]\)", text)
    assert re.search(r"analyzer +│ +\+\d\.\d\d \([+−]\d\.\d\d to", text)  # noqa: RUF001 - typographic minus
    assert "Pairwise interactions, fast (modelled)" in text
    assert "analyzer x debugger" in text
    assert "changing nothing" in text
    assert not re.search(r"\bfast\b(?! \(modelled\))(?!, score: left)", text)


def test_the_terminal_takes_names_literally_and_strips_control_characters():
    players = tuple(sorted(("[red]a\x1b[2J", "b")))
    found = report(rows(players=players, problems=1, repeats=1)).analysis
    text = shown(attribution_of(found, leads(found)[0]))
    assert "[red]a" in text
    assert "\x1b" not in text


def test_the_view_for_short_answers_has_the_numbers_of_the_analysis(data):
    attribution = attribution_of(data.analysis, leads(data.analysis)[0])
    assert attribution.players == PLAYERS
    for level in attribution.levels:
        part = data.analysis.slice_of(level.level)
        assert (level.values, level.effects) == (part.values, part.effects)
    assert compare(attribution).comparisons == ()


def test_numbers_and_names_are_written_for_readers():
    assert (signed(0.123), signed(-0.5), signed(-0.001)) == ("+0.12", "−0.50", "0.00")  # noqa: RUF001 - minus
    assert (signed3(0.0123), signed3(-0.0001)) == ("+0.012", "0.000")
    assert abbreviations(["analyzer", "debugger", "compiler", "cooler"]) == {
        "analyzer": "A",
        "debugger": "D",
        "compiler": "Com",
        "cooler": "Coo",
    }
    assert shorten("a\nlong name", 6) == "a lon…"
