"""Names of mechanisms: found in any spelling, suggested when missed, loaded when used."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit import plugins, registry
from quipukit.errors import SpecError
from quipukit.mechanisms.base import Mechanism
from quipukit.registry import canonical_name, mechanism_class, mechanism_names

BUILT_IN = [
    "CMP", "Mahalanobis", "VickreyCMP", "VickreyMhl", "CusText", "SanText", "SanText+", "TEM", "Diffractor", "RANTEXT",
    "NoisyRANTEXT", "DPMLM", "WBB", "AEA", "FEA",
    "Cover", "QueryExp", "ContextualCMP", "ContextualMhl", "Decoys", "StickyCover", "Identity", "Random",
]  # fmt: skip


def test_all_mechanisms_are_there():
    assert mechanism_names()[: len(BUILT_IN)] == BUILT_IN


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_name_leads_to_its_class(name):
    cls = mechanism_class(name)
    assert issubclass(cls, Mechanism)
    assert cls.name == name
    assert cls.summary
    assert cls.strategy
    assert cls.grid or cls.parameter != "epsilon"


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("change", [str.lower, str.upper, str.swapcase, "-".join, "_".join])
def test_any_spelling_of_a_name(name, change):
    assert canonical_name(change(name)) == name


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("mhl", "Mahalanobis"),
        ("Vickrey", "VickreyCMP"),
        ("cmp-vickrey", "VickreyCMP"),
        ("Mahalanobis_Vickrey", "VickreyMhl"),
        ("santext plus", "SanText+"),
        ("AED", "AEA"),
        ("fsh", "FEA"),
        ("original", "Identity"),
    ],
)
def test_aliases(alias, name):
    assert canonical_name(alias) == name
    assert mechanism_class(alias) is mechanism_class(name)


def test_aliases_shadow_no_name():
    names = {plugins.fold(name) for name in BUILT_IN}
    assert not names & set(registry.MECHANISMS.aliases)
    assert set(registry.MECHANISMS.aliases.values()) <= set(BUILT_IN)
    assert all(alias == plugins.fold(alias) for alias in registry.MECHANISMS.aliases)


@pytest.mark.parametrize(
    ("wrong", "suggestion"),
    [("CPM", "CMP"), ("SanTxt", "SanText"), ("mahalonobis", "Mahalanobis"), ("custex", "CusText"), ("TME", "TEM")],
)
def test_unknown_names_suggest_near_ones(wrong, suggestion):
    with pytest.raises(SpecError, match=f"there is no mechanism '{wrong}'; did you mean .*{suggestion}"):
        canonical_name(wrong)


def test_a_name_near_to_nothing_lists_them_all():
    with pytest.raises(SpecError, match=r"there are CMP, Mahalanobis, .*quipukit list"):
        canonical_name("qqqqqqqqqqq")


@given(st.text())
def test_any_name_is_known_or_a_spec_error(text):
    try:
        found = canonical_name(text)
    except SpecError:
        return
    assert found in mechanism_names()


@pytest.fixture
def install(monkeypatch):
    """Let entry points be installed; what they load is their value."""

    class Entry:
        def __init__(self, name, value):
            self.name, self.value = name, value

        def load(self):
            return self.value

    def put(*entries):
        found = [Entry(*entry) for entry in entries]
        monkeypatch.setattr(plugins, "entry_points", lambda group: found if group == "quipukit.mechanisms" else [])
        plugins.look_again()

    yield put
    plugins.look_again()


def test_a_plugin_is_found(install):
    install(("Mine", Mechanism))
    assert mechanism_names() == [*BUILT_IN, "Mine"]
    assert canonical_name("mine") == "Mine"
    assert mechanism_class("MINE") is Mechanism


@pytest.mark.parametrize(
    ("taken", "owner"),
    [("CMP", "CMP"), ("cmp", "CMP"), ("C-M-P", "CMP"), ("San_Text", "SanText"), ("Vickrey", "VickreyCMP")],
)
def test_a_plugin_cannot_take_a_built_in_name_in_any_spelling(install, taken, owner):
    install((taken, "evil:Case"), ("Mine", Mechanism))
    with pytest.warns(UserWarning, match=f"the plugin '{taken}' .evil:Case. is ignored: .* built-in {owner}") as told:
        assert mechanism_names() == [*BUILT_IN, "Mine"]
    assert canonical_name(taken) == owner and canonical_name(owner.lower()) == owner
    assert mechanism_class(taken).__module__.startswith("quipukit.mechanisms.")
    assert len(told) == 1


def test_of_two_plugins_with_one_name_neither_is_taken(install):
    install(("Mine", "one:Mine"), ("mine", "two:Mine"))
    with pytest.warns(UserWarning, match=r"plugins 'Mine' \(one:Mine\) and 'mine' \(two:Mine\) are ignored"):
        assert mechanism_names() == BUILT_IN
    with pytest.raises(SpecError, match="there is no mechanism 'mine'"):
        mechanism_class("mine")


def test_names_and_specs_load_nothing_heavy():
    code = (
        "import sys, quipukit\n"
        "from quipukit.registry import mechanism_names\n"
        "from quipukit import spec\n"
        "assert repr(spec('cmp@10')) == 'CMP@10' and mechanism_names()\n"
        "heavy = {'numba', 'numpy', 'pandas', 'scipy', 'torch', 'plotly', 'sentence_transformers'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
