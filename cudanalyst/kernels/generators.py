"""How inputs are drawn: generators by name, as `problem.toml` states them.

A parameter's `generator` is one name with arguments, e.g. `integers(0, bins - 1)`, or several joined by ` | `: an
evaluation then takes them in turn, so that a kernel which fits one distribution only is found out.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cudanalyst.kernels.draws import WORDS_PER_NORMAL, Draws
from cudanalyst.kernels.dtypes import Array
from cudanalyst.kernels.expressions import ExpressionError, Number, evaluate


@dataclass(frozen=True)
class Part:
    """Elements `start` to `stop` of a buffer, in row-major order."""

    total: int
    """Elements of the whole buffer."""
    start: int
    stop: int

    @property
    def count(self) -> int:
        """Elements of the part."""
        return self.stop - self.start


Generate = Callable[[Draws, Part, Sequence[Number]], Array]
"""Draws a part; all parts together are the whole, however it was cut."""

_FORM: Final = re.compile(r"\s*([a-z_]+)\s*(?:\((.*)\))?\s*", re.DOTALL)


class GeneratorError(ValueError):
    """Unknown generator, wrong number of arguments, or arguments out of range."""


@dataclass(frozen=True)
class _Entry:
    generate: Generate
    parameters: tuple[str, ...] = ()
    defaults: tuple[Number, ...] = ()
    floating: bool = True
    """Whether it gives fractions: not for integer buffers."""
    elementwise: bool = True
    """Whether a part costs no more than its own elements."""


def _normal(draws: Draws, part: Part, arguments: Sequence[Number]) -> Array:
    mean, deviation = arguments
    draws.seek(WORDS_PER_NORMAL * part.start)
    return draws.normal(part.count) * deviation + mean


def _uniform(draws: Draws, part: Part, arguments: Sequence[Number]) -> Array:
    low, high = arguments
    draws.seek(part.start)
    return draws.unit(part.count) * (high - low) + low


def _skewed(draws: Draws, part: Part, arguments: Sequence[Number]) -> Array:
    (scale,) = arguments
    draws.seek(part.start)
    return draws.skewed(part.count) * scale


def _skewed_signed(draws: Draws, part: Part, arguments: Sequence[Number]) -> Array:
    (scale,) = arguments
    draws.seek(part.start)
    signs = (draws.bits(part.count) & np.uint64(1)).astype(np.float64) * 2.0 - 1.0
    draws.seek(part.total + part.start)
    return draws.skewed(part.count) * scale * signs


def _filled(draws: Draws, part: Part, value: Number) -> Array:
    filled: Array = draws.arrays.full(part.count, value)
    return filled


def _integers(draws: Draws, part: Part, arguments: Sequence[Number]) -> Array:
    low, high = _range(arguments)
    draws.seek(part.start)
    return draws.integers(part.count, low, high)


def _skewed_integers(draws: Draws, part: Part, arguments: Sequence[Number]) -> Array:
    low, high = _range(arguments)
    draws.seek(part.start)
    drawn: Array = low + draws.arrays.minimum(draws.skewed(part.count).astype(np.int64) - 1, high - low)
    return drawn


def _range(arguments: Sequence[Number]) -> tuple[int, int]:
    low, high = (int(argument) for argument in arguments)
    if high < low:
        message = f"the range {low}..{high} is empty"
        raise GeneratorError(message)
    return low, high


def _permutation(draws: Draws, part: Part, _: Sequence[Number]) -> Array:
    draws.seek(0)
    return draws.order(part.total).astype(np.int64)[part.start : part.stop]


def _offsets(draws: Draws, part: Part, arguments: Sequence[Number]) -> Array:
    arrays, last = draws.arrays, int(arguments[0])
    draws.seek(0)
    inner = arrays.sort(draws.integers(max(part.total - 2, 0), 0, last))
    ends = arrays.asarray([0, last])
    offsets: Array = arrays.concatenate((ends[:1], inner, ends[1:]))[: part.total][part.start : part.stop]
    return offsets


_GENERATORS: Final[dict[str, _Entry]] = {
    "normal": _Entry(_normal, ("mean", "deviation"), (0.0, 1.0)),
    "uniform": _Entry(_uniform, ("low", "high"), (-1.0, 1.0)),
    "positive": _Entry(_uniform, ("low", "high"), (0.5, 1.5)),
    "skewed": _Entry(_skewed, ("scale",), (1.0,)),
    "skewed_signed": _Entry(_skewed_signed, ("scale",), (1.0,)),
    "constant": _Entry(lambda draws, part, values: _filled(draws, part, values[0]), ("value",), floating=False),
    "zeros": _Entry(lambda draws, part, _: _filled(draws, part, 0.0), floating=False),
    "ones": _Entry(lambda draws, part, _: _filled(draws, part, 1.0), floating=False),
    "integers": _Entry(_integers, ("low", "high"), floating=False),
    "skewed_integers": _Entry(_skewed_integers, ("low", "high"), floating=False),
    "permutation": _Entry(_permutation, floating=False, elementwise=False),
    "offsets": _Entry(_offsets, ("total",), floating=False, elementwise=False),
}
NAMES: Final = tuple(_GENERATORS)


def alternatives(generator: str) -> tuple[str, ...]:
    """The distributions that a `generator` lists."""
    return tuple(part.strip() for part in generator.split("|"))


def gives_fractions(alternative: str) -> bool:
    """Whether a generator is unfit for integer buffers."""
    return _entry(alternative)[0].floating


def arguments_of(alternative: str, names: Mapping[str, Number]) -> list[Number]:
    """Values of a generator's arguments, defaults filled in.

    Raises:
        GeneratorError: Unknown name, or too few or too many arguments, or a bad expression among them.
    """
    entry, texts = _entry(alternative)
    missing = len(entry.parameters) - len(texts)
    if missing < 0 or missing > len(entry.defaults):
        message = f"`{alternative}` takes ({', '.join(entry.parameters)})"
        raise GeneratorError(message)
    try:
        given = [evaluate(text, names) for text in texts]
    except ExpressionError as error:
        message = f"argument of `{alternative}`: {error}"
        raise GeneratorError(message) from error
    return given + list(entry.defaults[len(entry.defaults) - missing :] if missing else ())


def is_elementwise(alternative: str) -> bool:
    """Whether a part of a buffer can be drawn without drawing the whole."""
    return _entry(alternative)[0].elementwise


def generate(alternative: str, draws: Draws, shape: tuple[int, ...], names: Mapping[str, Number]) -> Array:
    """Draws an array of one of the named distributions, in float64 or int64."""
    count = math.prod(shape)
    return generate_part(alternative, draws, Part(count, 0, count), names).reshape(shape)


def generate_part(alternative: str, draws: Draws, part: Part, names: Mapping[str, Number]) -> Array:
    """Draws some elements of a buffer; `draws` is a stream of the buffer's own."""
    entry, _ = _entry(alternative)
    return entry.generate(draws, part, arguments_of(alternative, names))


def _entry(alternative: str) -> tuple[_Entry, list[str]]:
    form = _FORM.fullmatch(alternative)
    if form is None or form[1] not in _GENERATORS:
        message = f"unknown generator `{alternative}`; known are: {', '.join(NAMES)}"
        raise GeneratorError(message)
    return _GENERATORS[form[1]], _split(form[2] or "")


def _split(arguments: str) -> list[str]:
    """Splits at commas outside parentheses."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(arguments):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(arguments[start:position])
            start = position + 1
    last = arguments[start:]
    return [*parts, last] if parts or last.strip() else []
