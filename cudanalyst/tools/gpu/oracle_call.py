"""A call as the oracle's process holds it: the request, its problem, and its buffers at hand."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cudanalyst.kernels.dtypes import NUMPY, Array
from cudanalyst.kernels.inputs import nbytes_of, shape_of
from cudanalyst.kernels.loader import ProblemFolder
from cudanalyst.kernels.problem import Parameter, Problem
from cudanalyst.tools.gpu.oracle_buffers import Buffer
from cudanalyst.tools.gpu.oracle_messages import CallContents, Transport


@dataclass(frozen=True)
class DeviceCall:
    """A request's call, with its problem and its buffers at hand."""

    entry: ProblemFolder
    contents: CallContents
    buffers: Mapping[str, Buffer]

    @property
    def problem(self) -> Problem:
        """What it solves."""
        return self.entry.problem

    def body(self, parameter: Parameter) -> Array:
        """The body of a buffer in its own element type and shape."""
        guard, size = self.contents.guard_bytes, nbytes_of(parameter, self.contents.sizes)
        raw = self.buffers[parameter.name].view(guard, guard + size)
        body: Array = raw.view(NUMPY[parameter.dtype]).reshape(shape_of(parameter, self.contents.sizes))
        return body


def buffers_of(problem: Problem) -> list[Parameter]:
    """The pointer parameters of `solve`."""
    return [parameter for parameter in problem.parameters if parameter.role != "scalar"]


def outputs_of(problem: Problem) -> list[Parameter]:
    """Those that `solve` writes."""
    return [parameter for parameter in problem.parameters if parameter.role in {"out", "inout"}]


def transport_of(call: DeviceCall) -> Transport:
    """How the buffers of a call are reached."""
    return next(iter(call.buffers.values())).transport


def inputs_key(contents: CallContents) -> tuple[Any, ...]:
    """Equal for calls on equal inputs."""
    return contents.folder, tuple(sorted(contents.sizes.items())), contents.seed, contents.index
