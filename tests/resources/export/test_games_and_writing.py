"""Games that shapiq reads, and files that stay where they belong."""

import json
import os
import stat

import numpy as np
import pytest
import shapiq
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.errors import BadRequest, StoreError
from cudanalyst.resources.attribution import game
from cudanalyst.resources.attribution.plan import AnalysisPlan
from cudanalyst.resources.export.games import game_of, to_shapiq
from cudanalyst.resources.export.writing import check_name, safe_name, write_files
from cudanalyst.resources.report.bundle import game_files, games
from tests.resources.report.experiments import PLAYERS, report, rows


def all_values(table, players):
    return {game.members(mask, players): float(value) for mask, value in enumerate(table)}


@pytest.mark.parametrize("n", [1, 3, 5])
def test_shapiq_finds_the_same_indices_in_an_exported_game(n, tmp_path):
    players = tuple("abcde"[:n])
    table = np.random.default_rng(n).random(1 << n)
    made = game_of("any", players, all_values(table, players), {"level": "passed"})
    path = tmp_path / "game.json"
    path.write_bytes(to_shapiq(made))
    loaded = shapiq.Game.load(path, normalize=False)
    computer = shapiq.ExactComputer(loaded, n_players=n)
    values = computer("BV", order=1)
    assert [values[(i,)] for i in range(n)] == pytest.approx(list(game.banzhaf(table)), abs=1e-9)
    assert list(loaded.player_name_lookup) == list(players)
    if n > 1:
        pairs = computer("BII", order=2)
        expected = list(game.banzhaf_interaction(table))
        assert [pairs[pair] for pair in game.pairs(n)] == pytest.approx(expected, abs=1e-9)
    assert loaded(np.zeros(n, dtype=bool))[0] == pytest.approx(table[0])


@pytest.fixture(scope="module")
def data():
    trials = rows(problems=2, generations=(0, 3), repeats=2)
    return report(trials, AnalysisPlan(levels=("passed", "score_modelled")))


def test_games_of_an_experiment_give_back_the_banzhaf_values_of_its_analysis(data, tmp_path):
    files = game_files(data)
    write_files(tmp_path, files)
    index = json.loads(files["games.json"])
    assert {one["file"] for one in index} == set(files) - {"games.json"}
    (entry,) = [
        one for one in index if (one["level"], one["generation"], one.get("problem")) == ("passed", "pooled", None)
    ]
    loaded = shapiq.Game.load(tmp_path / entry["file"], normalize=False)
    values = shapiq.ExactComputer(loaded, n_players=3)("BV", order=1)
    part = data.analysis.slice_of("passed")
    for i, player in enumerate(data.analysis.players):
        (effect,) = [one for one in part.effects if one.index == "banzhaf" and one.players == (player,)]
        assert values[(i,)] == pytest.approx(effect.value, abs=1e-9)


def test_there_is_a_game_per_level_generation_and_problem(data):
    told = [
        (one.parameters["level"], one.parameters["generation"], one.parameters.get("problem")) for one in games(data)
    ]
    assert len(told) == len(set(told))
    assert ("passed", "3", None) in told
    assert ("score_modelled", "pooled", "problem_1") in told
    assert len({one.name for one in games(data)}) == len(told)


def test_a_game_with_a_missing_coalition_is_left_out():
    values = all_values(np.arange(8.0), PLAYERS)
    del values[("analyzer",)]
    assert game_of("g", PLAYERS, values, {}) is None
    assert game_of("g", PLAYERS, {**values, ("analyzer",): float("nan")}, {}) is None
    with pytest.raises(BadRequest, match="game g: who is no player"):
        game_of("g", PLAYERS, {("who",): 1.0}, {})


def test_a_half_run_experiment_exports_no_incomplete_game():
    trials = [one for one in rows(problems=1, repeats=1) if len(one.coalition) < 2]
    assert games(report(trials, AnalysisPlan(levels=("passed",)))) == ()


def test_files_are_written_whole_in_folders_that_are_made(tmp_path):
    written = write_files(tmp_path / "new", {"a.txt": b"1", "deep/er/b.txt": b"2"})
    assert [path.read_bytes() for path in written] == [b"1", b"2"]
    assert sorted(path.name for path in (tmp_path / "new").rglob("*")) == ["a.txt", "b.txt", "deep", "er"]
    assert stat.S_IMODE(written[0].stat().st_mode) & 0o600 == 0o600


def test_nothing_is_replaced_without_force_and_nothing_is_half_written(tmp_path):
    (tmp_path / "b.txt").write_text("mine")
    with pytest.raises(BadRequest, match=r"b.txt is there already.*--force"):
        write_files(tmp_path, {"a.txt": b"1", "b.txt": b"2"})
    assert [path.name for path in tmp_path.iterdir()] == ["b.txt"]
    write_files(tmp_path, {"a.txt": b"1", "b.txt": b"2"}, force=True)
    assert (tmp_path / "b.txt").read_bytes() == b"2"


@pytest.mark.parametrize(
    "name",
    ["", "/etc/passwd", "../up", "a/../../b", "a//b", "a/./b", "c:evil", "a\\b", "nul\x00", "line\nbreak", "x" * 200],
)
def test_paths_that_leave_the_folder_or_that_no_file_system_takes_are_refused(tmp_path, name):
    with pytest.raises(BadRequest, match="no plain relative path"):
        write_files(tmp_path, {name: b""})
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path):
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (inside / "games").symlink_to(outside)
    with pytest.raises(BadRequest, match="leads out of"):
        write_files(inside, {"games/a.json": b"{}"}, force=True)
    assert list(outside.iterdir()) == []


def test_a_link_in_place_of_a_file_is_replaced_not_written_through(tmp_path):
    target = tmp_path / "precious"
    target.write_text("mine")
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "a.txt").symlink_to(target)
    write_files(folder, {"a.txt": b"new"}, force=True)
    assert target.read_text() == "mine"
    assert (folder / "a.txt").read_bytes() == b"new"
    assert not (folder / "a.txt").is_symlink()


def test_a_folder_in_place_of_a_file_and_a_full_disk_are_clear_errors(tmp_path, monkeypatch):
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(BadRequest, match="is a folder where a file"):
        write_files(tmp_path, {"a.txt": b""}, force=True)

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left on device"):
        write_files(tmp_path / "new", {"b.txt": b"1"})
    assert list((tmp_path / "new").iterdir()) == []


@given(st.text(max_size=100))
def test_any_text_makes_a_safe_name(text):
    name = safe_name(text)
    assert str(check_name(name)) == name
    assert len(name) <= 60
