"""How inputs are drawn: generators by name, as `problem.toml` states them.

A parameter's `generator` is one name with arguments, e.g. `integers(0, bins - 1)`, or several joined by ` | `: an
evaluation then takes them in turn, so that a kernel which fits one distribution only is found out.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cudanalyst.kernels.draws import Draws
from cudanalyst.kernels.dtypes import Array
from cudanalyst.kernels.expressions import ExpressionError, Number, evaluate

Generate = Callable[[Draws, tuple[int, ...], Sequence[Number]], Array]

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


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def _normal(draws: Draws, shape: tuple[int, ...], arguments: Sequence[Number]) -> Array:
    mean, deviation = arguments
    return draws.normal(_count(shape)).reshape(shape) * deviation + mean


def _uniform(draws: Draws, shape: tuple[int, ...], arguments: Sequence[Number]) -> Array:
    low, high = arguments
    return draws.unit(_count(shape)).reshape(shape) * (high - low) + low


def _skewed(draws: Draws, shape: tuple[int, ...], arguments: Sequence[Number]) -> Array:
    (scale,) = arguments
    return draws.skewed(_count(shape)).reshape(shape) * scale


def _skewed_signed(draws: Draws, shape: tuple[int, ...], arguments: Sequence[Number]) -> Array:
    signs = (draws.bits(_count(shape)) & np.uint64(1)).astype(np.float64) * 2.0 - 1.0
    return _skewed(draws, shape, arguments) * signs.reshape(shape)


def _constant(_: Draws, shape: tuple[int, ...], arguments: Sequence[Number]) -> Array:
    return np.full(shape, arguments[0])


def _integers(draws: Draws, shape: tuple[int, ...], arguments: Sequence[Number]) -> Array:
    low, high = (int(argument) for argument in arguments)
    if high < low:
        message = f"the range {low}..{high} is empty"
        raise GeneratorError(message)
    return draws.integers(_count(shape), low, high).reshape(shape)


def _skewed_integers(draws: Draws, shape: tuple[int, ...], arguments: Sequence[Number]) -> Array:
    low, high = (int(argument) for argument in arguments)
    if high < low:
        message = f"the range {low}..{high} is empty"
        raise GeneratorError(message)
    offsets = np.minimum(draws.skewed(_count(shape)).astype(np.int64) - 1, high - low)
    return (low + offsets).reshape(shape)


def _permutation(draws: Draws, shape: tuple[int, ...], _: Sequence[Number]) -> Array:
    return draws.order(_count(shape)).astype(np.int64).reshape(shape)


def _offsets(draws: Draws, shape: tuple[int, ...], arguments: Sequence[Number]) -> Array:
    total = int(arguments[0])
    inner = np.sort(draws.integers(max(_count(shape) - 2, 0), 0, total))
    return np.concatenate(([0], inner, [total]))[: _count(shape)].reshape(shape)


_GENERATORS: Final[dict[str, _Entry]] = {
    "normal": _Entry(_normal, ("mean", "deviation"), (0.0, 1.0)),
    "uniform": _Entry(_uniform, ("low", "high"), (-1.0, 1.0)),
    "positive": _Entry(_uniform, ("low", "high"), (0.5, 1.5)),
    "skewed": _Entry(_skewed, ("scale",), (1.0,)),
    "skewed_signed": _Entry(_skewed_signed, ("scale",), (1.0,)),
    "constant": _Entry(_constant, ("value",), floating=False),
    "zeros": _Entry(lambda _, shape, __: np.zeros(shape), floating=False),
    "ones": _Entry(lambda _, shape, __: np.ones(shape), floating=False),
    "integers": _Entry(_integers, ("low", "high"), floating=False),
    "skewed_integers": _Entry(_skewed_integers, ("low", "high"), floating=False),
    "permutation": _Entry(_permutation, floating=False),
    "offsets": _Entry(_offsets, ("total",), floating=False),
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


def generate(alternative: str, draws: Draws, shape: tuple[int, ...], names: Mapping[str, Number]) -> Array:
    """Draws an array of one of the named distributions, in float64 or int64."""
    entry, _ = _entry(alternative)
    return entry.generate(draws, shape, arguments_of(alternative, names))


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
