"""Plugins: found by group, loaded when first used, and installed for the length of a block."""

import warnings

import pytest

from quipukit.errors import ResourceError
from quipukit.obfuscation import mechanism
from quipukit.plugins import fold, look_again, plugins, temporarily_installed
from tests.cli.test_cli import run

GROUP = "quipukit.tests"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Install a package with entry points, as pip leaves them."""

    def install(name: str, entries: str, code: str = "", group: str = GROUP) -> None:
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{entries}")
        (tmp_path / f"{name}.py").write_text(code)
        look_again()

    monkeypatch.syspath_prepend(tmp_path)
    yield install
    look_again()


def test_an_installed_package_is_found_and_loaded_when_asked_for(package):
    package("qk_sound", "Good = qk_sound:VALUE\nBroken = qk_sound:MISSING\n", "VALUE = 42\n")
    found = plugins(GROUP)
    assert set(found) == {"Good", "Broken"} and found["Good"]() == 42
    with pytest.raises(ResourceError, match=r"'Broken' \(qk_sound:MISSING\) cannot be loaded: AttributeError"):
        found["Broken"]()
    assert plugins("quipukit.others") == {}


def test_a_name_of_our_own_is_not_given_away(package):
    package("qk_thief", "c-m-p = qk_thief:VALUE\n", "VALUE = 42\n")
    with pytest.warns(UserWarning, match=r"'c-m-p' \(qk_thief:VALUE\) is ignored: its name means the built-in CMP"):
        assert plugins(GROUP, (("cmp", "CMP"),)) == {}


def test_two_packages_that_share_a_name_are_both_left_out(package):
    package("qk_one", "Same = qk_one:VALUE\n", "VALUE = 1\n")
    package("qk_two", "same = qk_two:VALUE\nOther = qk_two:VALUE\n", "VALUE = 2\n")
    with pytest.warns(UserWarning, match=r"'Same' \(qk_one:VALUE\) and 'same' \(qk_two:VALUE\) are ignored"):
        assert set(plugins(GROUP)) == {"Other"}


def test_what_is_installed_for_a_block_is_gone_afterwards():
    with temporarily_installed(GROUP, One=1):
        with temporarily_installed(GROUP, Two=2), warnings.catch_warnings():
            warnings.simplefilter("error")
            assert {name: load() for name, load in plugins(GROUP).items()} == {"One": 1, "Two": 2}
        assert set(plugins(GROUP)) == {"One"}
    assert plugins(GROUP) == {}


def test_it_is_gone_after_a_failure_too():
    with pytest.raises(ZeroDivisionError), temporarily_installed(GROUP, One=1):
        raise ZeroDivisionError
    assert plugins(GROUP) == {}


def test_spellings_of_one_name():
    assert len({fold(name) for name in ("SanText", "san-text", "SAN_TEXT", "San Text")}) == 1
    assert fold("SanText") != fold("SanText+")


@pytest.mark.parametrize(
    "fault", ["ImportError('no torch')", "ZeroDivisionError()", "KeyError('x')", "SyntaxError('x')", "SystemExit('x')"]
)
def test_a_plugin_that_raises_at_import_is_named_with_its_package(package, fault):
    package("qk_raises", "Bad = qk_raises:VALUE\n", f"raise {fault}\n")
    kind = fault.split("(")[0]
    words = rf"the plugin 'Bad' \(qk_raises:VALUE\) cannot be loaded: {kind}.*uninstall the package qk_raises"
    with pytest.raises(ResourceError, match=words) as caught:
        plugins(GROUP)["Bad"]()
    assert "\n" not in str(caught.value)


def test_a_mechanism_of_the_wrong_type_is_refused_and_the_others_still_work(package):
    entries = "Seven = qk_wrong:SEVEN\nPlain = qk_wrong:Plain\nBad = qk_missing:X\n"
    package("qk_wrong", entries, "SEVEN = 7\nclass Plain: pass\n", group="quipukit.mechanisms")
    with pytest.raises(ResourceError, match=r"the plugin 'Seven' gives no mechanism \(found int\)"):
        mechanism("Seven")
    with pytest.raises(
        ResourceError, match=r"the plugin 'Plain' gives no mechanism \(found Plain\); it must be a class"
    ):
        mechanism("Plain")
    with pytest.raises(ResourceError, match=r"the plugin 'Bad' .* cannot be loaded: ModuleNotFoundError"):
        mechanism("Bad")
    assert mechanism("Random").name == "Random"


def test_the_list_leaves_out_what_cannot_be_loaded_and_says_so(package):
    package("qk_wrong", "Seven = qk_wrong:SEVEN\n", "SEVEN = 7\n", group="quipukit.mechanisms")
    done = run("list")
    assert done.returncode == 0, done.stderr
    assert "warning: the plugin 'Seven' gives no mechanism" in done.stderr
    assert "CMP" in done.stdout and "Seven" not in done.stdout
