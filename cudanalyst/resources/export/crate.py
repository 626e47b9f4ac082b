"""An experiment as an RO-Crate: every file listed with its size and hash, and how it came to be.

Sources: RO-Crate 1.2 (w3id.org/ro/crate/1.2); Process Run Crate 0.5 (w3id.org/ro/wfrun/process/0.5), which says how
software, inputs and results of a run are told.
"""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from cudanalyst.resources.export.tables import pretty
from cudanalyst.resources.export.writing import check_name
from cudanalyst.values import Frozen

METADATA: Final = "ro-crate-metadata.json"
VERSION: Final = "https://w3id.org/ro/crate/1.2"
CONTEXT: Final = f"{VERSION}/context"
PROFILE: Final = "https://w3id.org/ro/wfrun/process/0.5"
TERMS: Final = "https://w3id.org/ro/terms/workflow-run/context"
_TYPES: Final = {
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
    "svg": "image/svg+xml",
    "toml": "application/toml",
    "cu": "text/plain",
    "txt": "text/plain",
}
_NO_LICENCE: Final = "#licence"
_NO_AUTHOR: Final = "#author"
# The first moment that a zip archive can tell; a clock would make other bytes of the same experiment.
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


class Person(Frozen):
    """Who made an experiment."""

    name: str
    id: str | None = None
    """An ORCID or another address that identifies them."""


class Software(Frozen):
    """A program that took part."""

    name: str
    version: str
    role: str
    """What it did, in a few words."""
    url: str | None = None


class CrateFacts(Frozen):
    """What a crate says beside its files."""

    experiment: str
    name: str
    description: str
    published: str
    """ISO 8601 date: when the experiment ended."""
    started_at: float | None = None
    ended_at: float | None = None
    """Seconds since 1970-01-01 UTC; None where it is not known."""
    licence: str | None = None
    """An SPDX identifier such as CC-BY-4.0, or an address; None where none was chosen."""
    authors: tuple[Person, ...] = ()
    instrument: Software
    software: tuple[Software, ...] = ()
    device: str | None = None
    """What candidates ran on."""
    parameters: dict[str, str] = {}
    """How the experiment was set up: planner, players, repeats, hash of its lock."""


class CrateFile(Frozen):
    """A file of a crate."""

    data: bytes
    name: str
    description: str
    role: str = "result"
    """`object`: was there before the experiment; `result`: came out of it."""


def crate(files: Mapping[str, CrateFile], facts: CrateFacts) -> dict[str, bytes]:
    """All files of the crate with its metadata: the same bytes for the same experiment.

    Raises:
        BadRequest: A file's path is no plain relative path.
    """
    for path in files:
        check_name(path)
    graph = [
        {
            "@id": METADATA,
            "@type": "CreativeWork",
            "conformsTo": {"@id": VERSION},
            "about": {"@id": "./"},
        },
        _root(files, facts),
        {"@id": PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
        _action(files, facts),
        *_software(facts),
        *_people(facts),
        _licence(facts),
        *_parameters(facts),
        *(_file(path, files[path]) for path in sorted(files)),
    ]
    whole = {"@context": [CONTEXT, TERMS], "@graph": graph}
    return {METADATA: pretty(whole), **{path: files[path].data for path in sorted(files)}}


def to_zip(files: Mapping[str, bytes]) -> bytes:
    """One archive of a crate's files, the same bytes every time; its metadata first."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression=zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(files, key=lambda name: (name != METADATA, name)):
            entry = zipfile.ZipInfo(str(check_name(path)), date_time=_EPOCH)
            entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[path])
    return buffer.getvalue()


def _root(files: Mapping[str, CrateFile], facts: CrateFacts) -> dict[str, Any]:
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": facts.name,
        "description": facts.description,
        "identifier": facts.experiment,
        "datePublished": facts.published,
        "license": {"@id": _licence(facts)["@id"]},
        "author": [{"@id": person["@id"]} for person in _people(facts)],
        "conformsTo": {"@id": PROFILE},
        "hasPart": [{"@id": path} for path in sorted(files)],
        "mentions": {"@id": "#experiment"},
    }


def _action(files: Mapping[str, CrateFile], facts: CrateFacts) -> dict[str, Any]:
    said: dict[str, Any] = {
        "@id": "#experiment",
        "@type": "CreateAction",
        "name": facts.name,
        "description": facts.description,
        "instrument": {"@id": "#cudanalyst"},
        "agent": [{"@id": person["@id"]} for person in _people(facts)],
        "object": [
            *({"@id": path} for path in sorted(files) if files[path].role == "object"),
            *({"@id": one["@id"]} for one in _parameters(facts)),
        ],
        "result": [{"@id": path} for path in sorted(files) if files[path].role == "result"],
        "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
    }
    for name, moment in (("startTime", facts.started_at), ("endTime", facts.ended_at)):
        if moment is not None:
            said[name] = datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
    if facts.device is not None:
        said["environment"] = {"@id": "#device"}
    return said


def _software(facts: CrateFacts) -> list[dict[str, Any]]:
    listed = [("#cudanalyst", facts.instrument), *((f"#software-{k}", one) for k, one in enumerate(facts.software))]
    told: list[dict[str, Any]] = [
        {
            "@id": name,
            "@type": "SoftwareApplication",
            "name": one.name,
            "softwareVersion": one.version,
            "description": one.role,
            **({"url": one.url} if one.url is not None else {}),
        }
        for name, one in listed
    ]
    told[0]["softwareRequirements"] = [{"@id": one["@id"]} for one in told[1:]]
    if facts.device is not None:
        told.append({"@id": "#device", "@type": "PropertyValue", "name": "device", "value": facts.device})
    return told


def _people(facts: CrateFacts) -> list[dict[str, Any]]:
    if not facts.authors:
        return [{"@id": _NO_AUTHOR, "@type": "Person", "name": "not stated"}]
    return [
        {"@id": person.id or f"{_NO_AUTHOR}-{k}", "@type": "Person", "name": person.name}
        for k, person in enumerate(facts.authors)
    ]


def _licence(facts: CrateFacts) -> dict[str, Any]:
    chosen = facts.licence
    if chosen is None:
        words = "No licence has been chosen: ask the authors before using this. Choose one with --licence."
        return {"@id": _NO_LICENCE, "@type": "CreativeWork", "name": "no licence chosen", "description": words}
    address = chosen if "://" in chosen else f"https://spdx.org/licenses/{chosen}"
    return {"@id": address, "@type": "CreativeWork", "name": chosen, "description": f"Licence of this crate: {chosen}"}


def _parameters(facts: CrateFacts) -> list[dict[str, Any]]:
    return [
        {"@id": f"#parameter-{k}", "@type": "PropertyValue", "name": name, "value": value}
        for k, (name, value) in enumerate(sorted(facts.parameters.items()))
    ]


def _file(path: str, file: CrateFile) -> dict[str, Any]:
    return {
        "@id": path,
        "@type": "File",
        "name": file.name,
        "description": file.description,
        "encodingFormat": _TYPES.get(path.rpartition(".")[2], "application/octet-stream"),
        "contentSize": str(len(file.data)),
        "sha256": hashlib.sha256(file.data).hexdigest(),
    }
