"""Puts a server's services together, without a protocol: what a transport and the command line both stand on."""

import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cudanalyst.errors import StoreError
from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.randomised.delivery import Deliveries
from cudanalyst.resources.store import Store
from cudanalyst.server.bench import Bench
from cudanalyst.server.evaluation import Evaluations
from cudanalyst.server.jobs import ANSWER_WITHIN_S, BEAT_S, Jobs
from cudanalyst.server.ledger import StoreLedger
from cudanalyst.server.services import Services
from cudanalyst.tools.toolchain.default import choose_toolchain, default_toolchain
from cudanalyst.tools.toolchain.protocol import Toolchain

LOCAL_OWNER: Final = "local"
SECRET_BYTES: Final = 32
STORE_VARIABLE: Final = "CUDANALYST_STORE"


@dataclass(frozen=True)
class Settings:
    """How a server is set up. What is None is found on this machine."""

    store: Path
    owner: str = LOCAL_OWNER
    allow_unsandboxed: bool = False
    toolchain: Toolchain | None = None
    toolchain_name: str = "auto"
    """Which toolchain to use where none is given: `auto`, `gpu`, `cpu` or `replay:FOLDER`."""
    problems: Catalogue | None = None
    bench: Bench | None = None
    """In place of one over toolchain and problems."""
    answer_within_s: float = ANSWER_WITHIN_S
    beat_s: float = BEAT_S
    progress: Callable[[str], None] | None = None
    """Told, in a line each, what takes long on first use."""


def default_store(environment: Mapping[str, str]) -> Path:
    """Where the store is, unless said otherwise: `CUDANALYST_STORE`, else the user's state folder."""
    if named := environment.get(STORE_VARIABLE):
        return Path(named).expanduser()
    state = environment.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "cudanalyst"


def assemble(settings: Settings) -> Services:
    """Opens the store; nothing is looked for or started yet.

    Raises:
        StoreError: The store cannot be used.
        BadProblem: A problem folder is invalid.
        BadRequest: There is no toolchain of the name.
    """
    store = Store.open(settings.store)
    bench = settings.bench or _bench(settings)
    experiments = Experiments(store)
    ledger = StoreLedger(store, experiments, Deliveries(store, bench.secret))
    jobs = Jobs(ledger.job_started, settings.answer_within_s, settings.beat_s)
    return Services(store, ledger, bench, jobs, experiments, Evaluations(bench, experiments))


def _bench(settings: Settings) -> Bench:
    problems = settings.problems or Catalogue.from_environment(os.environ)
    toolchain = settings.toolchain or choose_toolchain(
        settings.toolchain_name, progress=settings.progress, allow_unsandboxed=settings.allow_unsandboxed
    )
    engine = None
    if toolchain.name == "gpu":
        engine = default_toolchain(progress=settings.progress, allow_unsandboxed=settings.allow_unsandboxed)
    return Bench(toolchain, problems, _secret(settings.store), engine=engine)


def _secret(folder: Path) -> bytes:
    """The store's secret, from which inputs are drawn; made on first use and never shown.

    It is written aside and linked into place, so that of two servers that start at once both read the same.
    """
    path, aside = folder / "secret", folder / f".secret-{secrets.token_hex(8)}"
    try:
        if not path.exists():
            descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(SECRET_BYTES))
            with suppress(FileExistsError):
                os.link(aside, path)
            aside.unlink()
        secret = path.read_bytes()
    except OSError as error:
        message = f"the store's secret cannot be read or made ({error.strerror}); make the store's folder writable"
        raise StoreError(message) from error
    if len(secret) != SECRET_BYTES:
        message = "the store's secret is damaged; remove the file `secret` in the store's folder to draw a new one"
        raise StoreError(message)
    return secret
