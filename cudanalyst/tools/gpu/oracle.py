"""The oracle's process: `python -m cudanalyst.tools.gpu.oracle --control SOCKET`.

Trusted: it makes inputs and references and compares, on the device where the buffers lie, and never runs anything of a
candidate's. It connects to the socket on which the parent listens, and answers one request at a time (oracle_messages.py) until
the connection ends or nothing was asked for the idle limit.
"""

import argparse
import contextlib
import json
import socket
import sys
from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import Field, TypeAdapter, ValidationError

from cudanalyst.errors import BadProblem, Unavailable
from cudanalyst.kernels.arrays import load_arrays
from cudanalyst.tools.gpu.oracle_buffers import IpcRefused
from cudanalyst.tools.gpu.oracle_messages import Examine, Failed, Forget, Open, Prepare
from cudanalyst.tools.gpu.oracle_work import Work
from cudanalyst.values import Frozen

REQUEST: Final[TypeAdapter[Any]] = TypeAdapter(Annotated[Open | Prepare | Examine | Forget, Field(discriminator="do")])
MAX_LINE: Final = 1 << 20
DEFAULT_IDLE_S: Final = 120.0


class Server:
    """Answers requests; `Open` comes first."""

    def __init__(self) -> None:
        """Nothing is opened yet."""
        self._work: Work | None = None

    def answer(self, line: bytes) -> Frozen:
        """The answer to a line; what goes wrong is an answer too."""
        try:
            return self._do(REQUEST.validate_json(line))
        except (ValidationError, ValueError) as error:
            return Failed(failed="request", message=str(error))
        except BadProblem as error:
            return Failed(failed="problem", message=str(error))
        except IpcRefused as error:
            return Failed(failed="ipc", message=str(error))
        except Unavailable as error:
            return Failed(failed="device", message=str(error))
        except OSError as error:
            return Failed(failed="io", message=f"{error.filename or ''}: {error.strerror or error}")
        except Exception as error:  # noqa: BLE001 - the parent is told of anything that went wrong
            return self._failure(error)

    def _do(self, request: Any) -> Frozen:
        if isinstance(request, Open):
            self._work = Work(request)
            return self._work.opened
        if self._work is None:
            raise ValueError("the first request must be `open`")
        match request:
            case Prepare():
                return self._work.prepare(request)
            case Examine():
                return self._work.examine(request)
            case _:
                return self._work.forget(request)

    def _failure(self, error: Exception) -> Failed:
        name = type(error).__name__
        if name == "OutOfMemoryError" or isinstance(error, MemoryError):
            budget = self._work.opened.budget_bytes if self._work else 0
            if self._work is not None:
                self._work.free()
            return Failed(
                failed="memory", message=f"{error}; the budget is {budget} bytes: raise it, or use smaller sizes"
            )
        # CuPy's own errors (CUDARuntimeError, CUDADriverError, CompileException) are of modules that are not imported here.
        kind: Any = "device" if type(error).__module__.startswith(("cupy", "cupy_backends")) else "internal"
        return Failed(failed=kind, message=f"{name}: {error}"[:4000])


def serve(connection: socket.socket, idle_s: float) -> None:
    """Answers until the other end closes, or nothing comes for `idle_s` seconds."""
    server, held = Server(), b""
    connection.settimeout(idle_s)
    while True:
        while b"\n" not in held:
            try:
                data = connection.recv(1 << 16)
            except TimeoutError:
                return
            if not data or len(held) > MAX_LINE:
                return
            held += data
        line, _, held = held.partition(b"\n")
        answer = server.answer(line)
        payload = {"answer": type(answer).__name__, **answer.model_dump(mode="json")}
        connection.settimeout(None)
        connection.sendall(json.dumps(payload).encode() + b"\n")
        connection.settimeout(idle_s)


def main(arguments: Sequence[str] | None = None) -> int:
    """Connects and serves."""
    parser = argparse.ArgumentParser(description="Makes inputs and references where the buffers lie; obeys a socket.")
    parser.add_argument("--control", required=True, help="Unix socket on which the parent listens")
    parser.add_argument(
        "--idle", type=float, default=DEFAULT_IDLE_S, help="seconds without a request after which it ends"
    )
    parser.add_argument(
        "--arrays", default="numpy", help="array module that will be asked for: loading it needs no device"
    )
    given = parser.parse_args(arguments)
    with contextlib.suppress(Exception):  # `open` meets it again, and tells
        load_arrays(given.arrays)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(given.control)
        serve(connection, given.idle)
    return 0


if __name__ == "__main__":
    sys.exit(main())
