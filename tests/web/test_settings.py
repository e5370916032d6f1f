"""The mechanisms of the page."""

import pytest

from quipukit.errors import InputError, SpecError
from quipukit.registry import mechanism_names
from quipukit.web.settings import Mechanisms, choices


def test_all_mechanisms_can_be_chosen() -> None:
    assert [one.name for one in choices()] == mechanism_names()
    assert all(one.default is not None and one.values for one in choices() if one.parameter)


def test_a_setting_is_bound_once_and_few_are_kept() -> None:
    own = Mechanisms()
    first = own.bound("cmp", 10)
    assert own.bound("CMP", 10.0) is first and repr(own.bound("CMP", None).spec).startswith("CMP@")
    assert repr(own.bound("Identity", 7.0).spec) == "Identity"
    for value in range(11, 61):
        own.bound("CMP", float(value))
    assert own.bound("CMP", 10.0) is not first


@pytest.mark.parametrize(("name", "value"), [("CMP(oov='keep')", 10.0), ("x", None), ("CMP@10", None)])
def test_options_are_not_for_the_page(name: str, value: float | None) -> None:
    with pytest.raises(SpecError):
        Mechanisms().bound(name, value)
    with pytest.raises(InputError, match="finite"):
        Mechanisms().bound("CMP", float("nan"))
