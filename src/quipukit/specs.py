"""Specs: the name of a mechanism, its options and its privacy parameter as one value.

``CusText(k=20)@10`` reads as in ir_measures: the options in brackets, the parameter after ``@``.
"""

import ast
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from quipukit.errors import SpecError

_SHAPE = re.compile(r"^\s*([A-Za-z][\w+-]*)\s*(?:\((.*)\))?\s*(?:@\s*(\S+))?\s*$", re.DOTALL)

Option = str | int | float | bool | None


def format_value(value: float) -> str:
    """Write a parameter as people write it: 10, not 10.0; 12.5 as it is.

    >>> format_value(10.0), format_value(12.5)
    ('10', '12.5')
    """
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(float(value))


@dataclass(frozen=True)
class Spec:
    """An unbound mechanism: a value that can be compared, printed and parsed back.

    >>> spec("CusText( k = 20 )@10")
    CusText(k=20)@10
    >>> spec("CusText(k=20)@10") == spec("CusText(k=20)") @ 10
    True
    """

    name: str
    options: tuple[tuple[str, Option], ...] = ()
    value: float | None = None

    def __matmul__(self, value: float) -> "Spec":
        return replace(self, value=_finite(repr(self), float(value)))

    @property
    def family(self) -> str:
        """Return name and options without the parameter: what the column ``mechanism`` holds."""
        options = ", ".join(f"{name}={value!r}" for name, value in self.options)
        return f"{self.name}({options})" if options else self.name

    def __repr__(self) -> str:
        return self.family if self.value is None else f"{self.family}@{format_value(self.value)}"

    def _repr_html_(self) -> str:
        from quipukit.richtext import block

        options = {name: repr(value) for name, value in self.options}
        return block(self, options if self.value is None else {**options, "parameter": self.value})


def spec(text: "str | Spec") -> Spec:
    """Parse a spec such as ``CMP@10`` or ``CusText(k=20, mapping='topk')@10``.

    The name is looked up (any case, aliases), so the result carries the canonical one.
    """
    from quipukit.registry import canonical_name

    return parse(text, canonical_name, "a mechanism; write it as CMP@10 or CusText(k=20)@10")


def parse(text: "str | Spec", canonical: Callable[[str], str], otherwise: str) -> Spec:
    """Parse a spec of any kind; ``canonical`` looks its name up, ``otherwise`` says what it should have been."""
    if isinstance(text, Spec):
        return replace(text, name=canonical(text.name))
    shape = _SHAPE.match(text) if isinstance(text, str) else None  # type: ignore[redundant-expr]
    if shape is None:
        raise SpecError(f"{text!r} is not {otherwise}.")
    name, options, value = shape.groups()
    return Spec(canonical(name), _parse_options(text, options), _parse_value(text, value))


def _parse_value(text: str, value: str | None) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        raise SpecError(f"{text!r}: {value!r} after '@' is not a number; write for instance @10.") from None
    return _finite(text, number)


def _finite(text: str, number: float) -> float:
    if not math.isfinite(number):
        raise SpecError(f"{text!r}: the parameter must be a finite number, for instance @10.")
    return number


def _parse_options(text: str, options: str | None) -> tuple[tuple[str, Option], ...]:
    if not options or not options.strip():
        return ()
    fault = SpecError(f"{text!r}: options are written as (name=value, ...), for instance CusText(k=20)@10.")
    try:
        call = ast.parse(f"_({options})", mode="eval").body
        # One call of "_", or "CusText(k=1)(k=2)" would lose its first options.
        if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
            raise fault
        pairs = [(item.arg, _literal(item.value)) for item in call.keywords]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise fault from None
    if any(name is None for name, _ in pairs):
        raise fault
    return tuple((str(name), value) for name, value in pairs)


def _literal(node: ast.expr) -> Option:
    if isinstance(node, ast.Name):  # a bare word is a string: mapping=topk needs no quotes in a shell
        return {"true": True, "false": False, "none": None}.get(node.id.lower(), node.id)
    value = ast.literal_eval(node)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise ValueError(value)
