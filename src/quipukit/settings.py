"""Setting: a mechanism at one value of its parameter, and how many variants it sends."""

import functools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quipukit.errors import SpecError
from quipukit.specs import format_value, parse

if TYPE_CHECKING:
    from quipukit.mechanisms.base import Mechanism

SETTING = ("mechanism", "parameter", "value")  # the columns that identify a setting
ORIGINAL = "Identity"  # the mechanism that sends the query as it is


def setting_name(mechanism: str, parameter: str, value: float) -> str:
    """Write a setting as a spec: the mechanism, and its value where it has a parameter.

    >>> setting_name("CusText(k=20)", "epsilon", 10.0), setting_name("Identity", "", 0.0)
    ('CusText(k=20)@10', 'Identity')
    """
    return f"{mechanism}@{format_value(value)}" if parameter else mechanism


@functools.cache
def shares_budget(mechanism: str) -> bool:
    """Return whether all variants of a mechanism (by its name with options) share one epsilon: ``budget='total'``.

    >>> shares_budget("CMP(budget='total')"), shares_budget("CMP")
    (True, False)
    """
    try:
        return ("budget", "total") in parse(mechanism, str, "").options
    except SpecError:  # a name of another program
        return False


def composed_budget(mechanism: str, parameter: str, value: float, n: float) -> float:
    """Return the epsilon of n variants together: N * epsilon, or epsilon where they share it; NaN without an epsilon.

    >>> composed_budget("CMP", "epsilon", 10, 50), composed_budget("CMP(budget='total')", "epsilon", 10, 50)
    (500.0, 10.0)
    """
    if parameter != "epsilon":
        return math.nan
    return float(value if shares_budget(mechanism) else value * n)


@dataclass(frozen=True)
class Setting:
    """A mechanism at one value, with n variants per query; ``bound`` is None for queries obfuscated elsewhere.

    >>> setting = Setting("CMP", "epsilon", 10.0, n=50)
    >>> str(setting), setting.budget
    ('CMP@10', 500.0)
    """

    mechanism: str
    parameter: str
    value: float
    n: int
    strategy: str = ""
    bound: "Mechanism | None" = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, mechanism: "Mechanism", n: int) -> "Setting":
        """Return the setting of a bound mechanism."""
        return cls(mechanism.spec.family, mechanism.parameter, mechanism.value, n, mechanism.strategy, mechanism)

    def __str__(self) -> str:
        return setting_name(*self.key)

    @property
    def key(self) -> tuple[str, str, float]:
        """Return what the columns `SETTING` hold."""
        return (self.mechanism, self.parameter, self.value)

    @property
    def columns(self) -> dict[str, Any]:
        """Return the columns `SETTING` with what they hold."""
        return dict(zip(SETTING, self.key, strict=True))

    @property
    def budget(self) -> float:
        """Return the composed budget, N * epsilon unless the variants share it; NaN where there is no epsilon."""
        return composed_budget(*self.key, self.n)

    @property
    def guarantee(self) -> str:
        """Return what one variant promises, in words."""
        return "not known: obfuscated elsewhere" if self.bound is None else str(self.bound.guarantee)

    @property
    def private(self) -> bool:
        """Return whether differential privacy is promised."""
        return self.bound is not None and self.bound.guarantee.private
