"""The report of an experiment's file, and every number of it as tables."""

import shlex
from pathlib import Path

from rich.console import Console

from cudanalyst.clients.experiment.folder import Place
from cudanalyst.clients.experiment.preparing import nothing_begun
from cudanalyst.clients.experiment.watching import watching
from cudanalyst.errors import BadRequest
from cudanalyst.resources.export.writing import write_files
from cudanalyst.resources.report.bundle import table_files
from cudanalyst.resources.report.data import ReportData
from cudanalyst.resources.report.gather import gather
from cudanalyst.resources.report.page import write_report


def gathered(place: Place) -> ReportData:
    """All that a report shows; in the middle of an experiment, what there is.

    Raises:
        BadRequest: No run of the file has laid an experiment down, or it ran on a server elsewhere.
    """
    began = place.began()
    if began is None:
        raise BadRequest(
            f"There is nothing to report yet. {nothing_begun(place)} Begin with `cudanalyst experiment run {place.file}`."
        )
    if began.url is not None and place.store_given is None:
        raise BadRequest(
            f"The trials are in the store of the server at {began.url}. On its machine: `cudanalyst export {began.experiment} "
            "--format report`; or name its store here with --store."
        )
    with watching(place.store) as watcher:
        return gather(
            watcher.experiments, watcher.owner, began.experiment, locked=place.locked(), replication=True, interim=True
        )


def write_all(place: Place, out: Path | None, console: Console) -> ReportData:
    """Writes report and tables, and says where.

    Raises:
        BadRequest: There is nothing to report.
        CudanalystError: The folder cannot be written.
    """
    data = gathered(place)
    if (began := place.began()) is not None and began.design != place.design().id:
        console.print(
            f"[yellow]{place.file} was changed since its run began; this reports what was run.[/]", highlight=False
        )
    folder = out or place.folder / "report"
    page, numbers = write_report(data, folder)
    written = write_files(folder, table_files(data, "csv"), force=True)
    open_trials = sum(row.state not in {"evaluated", "infrastructure_failed"} for row in data.rows)
    if open_trials:
        console.print(
            f"[yellow]Interim: {open_trials} of {len(data.rows)} trials have no outcome yet.[/]", highlight=False
        )
    if data.lock is not None and data.lock.deviations:
        for words in data.lock.deviations:
            console.print(f"[yellow]Deviation from the lock:[/] {words}", highlight=False)
    console.print(f"Report: [bold]{page}[/]  Numbers: [bold]{numbers}[/] and {len(written)} tables", highlight=False)
    if began is not None and not open_trials:
        more = (
            f"cudanalyst export {began.experiment} --store {shlex.quote(str(place.store))} --format parquet --out DIR"
        )
        console.print(f"More formats: {more}", highlight=False, markup=False, soft_wrap=True)
    return data
