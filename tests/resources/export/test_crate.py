"""An experiment as an RO-Crate, and the whole way from the store to files."""

import hashlib
import io
import json
import zipfile

import pytest

from cudanalyst.errors import BadRequest, NotFound
from cudanalyst.resources.design.lock import lock
from cudanalyst.resources.design.models import CheckpointEntry, Design, PlannerEntry
from cudanalyst.resources.export.crate import CrateFacts, CrateFile, Person, Software, crate, to_zip
from cudanalyst.resources.report.bundle import Wishes, export_files

FACTS = CrateFacts(
    experiment="exp_1",
    name="Which feedback helped",
    description="An experiment.",
    published="2026-01-02",
    started_at=0.0,
    ended_at=3600.0,
    licence="CC-BY-4.0",
    authors=(Person(name="Ada", id="https://orcid.org/0000-0000-0000-0000"), Person(name="Bob")),
    instrument=Software(name="cudanalyst", version="0.1.0", role="ran it"),
    software=(Software(name="nvcc", version="13.0.88", role="compiled"),),
    device="cpu-engine",
    parameters={"lock": "ab" * 32},
)
FILES = {
    "trials.csv": CrateFile(data=b"a,b\r\n", name="trials", description="One row per trial."),
    "checkpoints/chk_1.json": CrateFile(data=b"{}", name="state", description="A frozen state.", role="object"),
}


def graph(files):
    whole = json.loads(files["ro-crate-metadata.json"])
    assert whole["@context"][0] == "https://w3id.org/ro/crate/1.2/context"
    entities = {one["@id"]: one for one in whole["@graph"]}
    assert len(entities) == len(whole["@graph"])
    return entities


def references(value):
    if isinstance(value, dict):
        if set(value) == {"@id"}:
            yield value["@id"]
        else:
            for part in value.values():
                yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def check(files):
    """What RO-Crate 1.2 and Process Run Crate 0.5 ask of any crate."""
    entities = graph(files)
    descriptor, root = entities["ro-crate-metadata.json"], entities["./"]
    assert descriptor["@type"] == "CreativeWork"
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.2"}
    assert descriptor["about"] == {"@id": "./"}
    assert root["@type"] == "Dataset"
    assert all(root[name] for name in ("name", "description", "datePublished", "license", "author", "conformsTo"))
    assert {one["@id"] for one in root["hasPart"]} == set(files) - {"ro-crate-metadata.json"}
    for part in root["hasPart"]:
        entity, data = entities[part["@id"]], files[part["@id"]]
        assert entity["@type"] == "File"
        assert entity["contentSize"] == str(len(data))
        assert entity["sha256"] == hashlib.sha256(data).hexdigest()
        assert "/" in entity["encodingFormat"]
        assert entity["description"]
    action = entities[root["mentions"]["@id"]]
    assert action["@type"] == "CreateAction"
    assert entities[action["instrument"]["@id"]]["@type"] == "SoftwareApplication"
    assert {one["@id"] for one in action["result"]} <= set(files)
    external = ("https://w3id.org/ro/crate", "http://schema.org")
    missing = {name for one in entities.values() for name in references(one) if name not in entities}
    assert all(name.startswith(external) for name in missing)
    return entities


def test_a_crate_lists_every_file_with_its_size_and_hash_and_how_it_came_to_be():
    entities = check(crate(FILES, FACTS))
    action = entities["#experiment"]
    assert [one["@id"] for one in action["result"]] == ["trials.csv"]
    assert {"@id": "checkpoints/chk_1.json"} in action["object"]
    assert (action["startTime"], action["endTime"]) == ("1970-01-01T00:00:00+00:00", "1970-01-01T01:00:00+00:00")
    assert entities["./"]["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    assert [entities[one["@id"]]["name"] for one in entities["./"]["author"]] == ["Ada", "Bob"]
    assert entities["#software-0"]["softwareVersion"] == "13.0.88"
    assert entities["#device"]["value"] == "cpu-engine"
    assert entities["#parameter-0"] == {
        "@id": "#parameter-0",
        "@type": "PropertyValue",
        "name": "lock",
        "value": "ab" * 32,
    }


def test_a_crate_without_licence_and_authors_says_so():
    bare = FACTS.model_copy(
        update={"licence": None, "authors": (), "device": None, "started_at": None, "ended_at": None}
    )
    entities = check(crate(FILES, bare))
    assert "No licence has been chosen" in entities["#licence"]["description"]
    assert entities["#author"]["name"] == "not stated"
    assert "startTime" not in entities["#experiment"]


def test_the_same_experiment_gives_the_same_bytes_as_folder_and_as_archive():
    one, other = crate(FILES, FACTS), crate(dict(reversed(FILES.items())), FACTS)
    assert one == other
    assert to_zip(one) == to_zip(dict(reversed(other.items())))
    with zipfile.ZipFile(io.BytesIO(to_zip(one))) as archive:
        assert archive.namelist()[0] == "ro-crate-metadata.json"
        assert {name: archive.read(name) for name in archive.namelist()} == one


def test_a_path_that_leaves_the_crate_is_refused():
    with pytest.raises(BadRequest, match="no plain relative path"):
        crate({"../up": FILES["trials.csv"]}, FACTS)


@pytest.fixture
def ended(lab):
    experiment = lab.start(lab.freeze("a"), lab.freeze("b", status="compile_failed"), repeats=1)
    lab.finish(experiment)
    return experiment


def test_an_experiment_of_the_store_becomes_a_crate_with_all_that_it_rests_on(lab, ended):
    files = export_files(lab.experiments, lab.owner, ended, "ro-crate", Wishes(licence="CC0-1.0"))
    entities = check(files)
    assert {"report.html", "report.json", "trials.csv", "trials.jsonl", "numbers.csv", "candidates.jsonl"} <= set(files)
    assert sum(name.startswith("checkpoints/chk_") for name in files) == 2
    assert any(name.startswith("games/") for name in files)
    candidates = [json.loads(line) for line in files["candidates.jsonl"].decode().splitlines()]
    assert all("answer to" in one["source"] for one in candidates)
    assert entities["./"]["identifier"] == ended
    assert export_files(lab.experiments, lab.owner, ended, "ro-crate", Wishes(licence="CC0-1.0")) == files
    (name,) = export_files(lab.experiments, lab.owner, ended, "ro-crate", Wishes(zipped=True))
    assert name == f"{ended}.crate.zip"


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("parquet", "trials.parquet"),
        ("csv", "numbers.csv"),
        ("json", "trials.jsonl"),
        ("shapiq", "games.json"),
        ("report", "report.html"),
    ],
)
def test_every_format_has_its_files(lab, ended, form, name):
    assert name in export_files(lab.experiments, lab.owner, ended, form)


def test_nothing_is_exported_before_the_end_or_to_another_owner(lab):
    experiment = lab.start(lab.freeze("a"))
    payload = lab.next(experiment, "fresh")
    lab.submit(payload, "fresh")
    lab.judge(experiment)
    with pytest.raises(BadRequest, match="Results stay closed until the experiment ends: 1 of 8 trials"):
        export_files(lab.experiments, lab.owner, experiment, "csv")
    with pytest.raises(NotFound):
        export_files(lab.experiments, "somebody else", experiment, "csv")
    lab.experiments.end(lab.owner, experiment, "enough")
    assert "trials.csv" in export_files(lab.experiments, lab.owner, experiment, "csv")


def test_an_experiment_that_ended_without_an_outcome_has_nothing_to_export(lab):
    experiment = lab.start(lab.freeze("a"))
    lab.experiments.end(lab.owner, experiment, "changed my mind")
    with pytest.raises(BadRequest, match="nothing to report yet: none of 8 trials"):
        export_files(lab.experiments, lab.owner, experiment, "csv")


def test_a_lock_goes_along_and_tells_where_the_experiment_went_another_way(lab, ended):
    design = Design(
        name="d",
        checkpoints=(CheckpointEntry(id="chk_" + "0" * 32),),
        planners=(PlannerEntry(name="p", kind="scripted"),),
    )
    files = export_files(lab.experiments, lab.owner, ended, "ro-crate", Wishes(locked=lock(design, 5.0)))
    entities = check(files)
    assert json.loads(files["lock.json"])["digest"] in {one.get("value") for one in entities.values()}
    assert "not laid down from the locked design" in files["report.html"].decode()
