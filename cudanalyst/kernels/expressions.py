"""Arithmetic over named sizes, as problem files state it (`m*k`, `(n+255)//256`, `max(a, b)`).

An own evaluator over the syntax tree with an allow-list: nothing else can be called, looked up or built.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Final

Number = int | float

MAX_CHARACTERS: Final = 200
MAX_MAGNITUDE: Final = 2**63
"""Values at or beyond this are refused: no extent or count is that large."""
MAX_EXPONENT: Final = 64

_BINARY: Final[dict[type[ast.operator], Callable[[Number, Number], Number]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: Final[dict[type[ast.unaryop], Callable[[Number], Number]]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_FUNCTIONS: Final[dict[str, Callable[..., Number]]] = {"min": min, "max": max, "ceil": math.ceil, "floor": math.floor}


class ExpressionError(ValueError):
    """The expression is malformed, names something unknown, or leaves the range of values."""


def evaluate(expression: str, names: Mapping[str, Number]) -> Number:
    """Evaluates an expression.

    Args:
        expression: Numbers, names, `+ - * / // % **`, parentheses, `min`, `max`, `ceil`, `floor`.
        names: Values of the names that may occur.

    Raises:
        ExpressionError: The text says what is not allowed.
    """
    return _value(_parse(expression), names)


def evaluate_integer(expression: str, names: Mapping[str, Number], *, at_least: int = 0) -> int:
    """Evaluates an expression that has to give an integer, an extent for instance.

    Raises:
        ExpressionError: It gives a fraction, or less than `at_least`.
    """
    value = evaluate(expression, names)
    if isinstance(value, float) and not value.is_integer():
        message = f"`{expression}` is {value}, not an integer; use `//` or `ceil`"
        raise ExpressionError(message)
    if value < at_least:
        message = f"`{expression}` is {int(value)}, less than {at_least}"
        raise ExpressionError(message)
    return int(value)


def _parse(expression: str) -> ast.expr:
    if len(expression) > MAX_CHARACTERS:
        message = f"an expression of {len(expression)} characters; at most {MAX_CHARACTERS} are allowed"
        raise ExpressionError(message)
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        message = f"`{expression}` is not arithmetic over the named sizes"
        raise ExpressionError(message) from error


def _value(node: ast.expr, names: Mapping[str, Number]) -> Number:
    match node:
        case ast.Constant(value=int() | float() as constant) if not isinstance(constant, bool):
            return _bounded(constant)
        case ast.Name(id=name):
            if name not in names:
                known = ", ".join(sorted(names)) or "none"
                message = f"unknown name `{name}`; the names here are: {known}"
                raise ExpressionError(message)
            return names[name]
        case ast.UnaryOp(op=unary, operand=operand) if type(unary) in _UNARY:
            return _UNARY[type(unary)](_value(operand, names))
        case ast.BinOp(left=left, op=binary, right=right) if type(binary) in _BINARY:
            return _binary(binary, _value(left, names), _value(right, names))
        case ast.Call(func=ast.Name(id=function), args=[_, *_] as args, keywords=[]) if function in _FUNCTIONS:
            return _call(function, [_value(argument, names) for argument in args])
        case _:
            allowed = "numbers, names, + - * / // % **, parentheses, " + ", ".join(sorted(_FUNCTIONS))
            message = f"`{ast.unparse(node)}` is not allowed here; allowed are: {allowed}"
            raise ExpressionError(message)


def _binary(op: ast.operator, left: Number, right: Number) -> Number:
    # Bounded before it is computed: 9**9**9 would otherwise take the machine's memory.
    if isinstance(op, ast.Pow) and abs(right) > MAX_EXPONENT:
        message = f"an exponent of {right}; at most {MAX_EXPONENT} is allowed"
        raise ExpressionError(message)
    try:
        return _bounded(_BINARY[type(op)](left, right))
    except (ZeroDivisionError, OverflowError) as error:
        message = f"division by zero or overflow ({error})"
        raise ExpressionError(message) from error


def _call(function: str, arguments: list[Number]) -> Number:
    try:
        return _bounded(_FUNCTIONS[function](*(arguments if len(arguments) > 1 else [arguments[0]])))
    except TypeError as error:
        message = f"`{function}` with {len(arguments)} argument(s)"
        raise ExpressionError(message) from error


def _bounded(value: Number) -> Number:
    if isinstance(value, complex) or not abs(value) < MAX_MAGNITUDE:
        message = "a value that is not a real number, or beyond 2**63"
        raise ExpressionError(message)
    return value
