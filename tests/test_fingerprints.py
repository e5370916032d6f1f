"""Fingerprints of objects that a user passes."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from quipukit.errors import InputError
from quipukit.fingerprints import fingerprint_of
from tests.examples import slowly


class Thing:
    def __init__(self, **state):
        self.__dict__.update(state)


class Stated:
    fingerprint = "mine-1"


class Slotted:
    __slots__ = ("size",)

    def __init__(self, size):
        self.size = size


def module_level():
    return 1


def everything():
    return Thing(
        words={"pear", "apple", "plum", "fig"},
        table={"b": [1, 2.5, None], "a": (True, b"x")},
        array=np.arange(6).reshape(2, 3),
        function=module_level,
        inner=Slotted(3),
        stated=Stated(),
    )


def test_what_an_object_states_is_taken():
    assert fingerprint_of(Stated()) == "mine-1"


def test_equal_state_means_equal_fingerprint():
    assert fingerprint_of(everything()) == fingerprint_of(everything())


@pytest.mark.parametrize("seed", ["0", *slowly("1")])
def test_it_is_the_same_in_every_process(seed):
    code = "from tests.test_fingerprints import *; print(fingerprint_of(everything()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(path or "." for path in sys.path)},
    )
    assert done.stdout.strip() == fingerprint_of(everything()), done.stderr


@pytest.mark.parametrize(
    "change",
    [
        {"words": {"pear"}},
        {"array": np.arange(6).reshape(3, 2)},
        {"array": np.arange(6.0).reshape(2, 3)},
        {"table": {"a": (True, b"x"), "b": [1, 2.5, None]}},
        {"table": {"b": [1, 2.5, ""], "a": (True, b"x")}},
        {"function": everything},
        {"inner": Slotted(4)},
        {"inner": Thing(size=3)},
        {"more": 0},
    ],
)
def test_any_other_state_has_another(change):
    other = everything()
    vars(other).update(change)
    assert fingerprint_of(other) != fingerprint_of(everything())


def test_another_class_has_another():
    class Other(Thing):
        pass

    Other.__qualname__ = "Other"
    assert fingerprint_of(Other()) != fingerprint_of(Thing())


def test_an_object_that_holds_itself():
    loop = Thing(name="loop")
    loop.me = loop
    twin = Thing(name="loop")
    twin.me = twin
    assert fingerprint_of(loop) == fingerprint_of(twin)


@pytest.mark.parametrize("state", [{"lock": threading.Lock()}, {"function": lambda: 1}])
def test_what_cannot_be_pickled_is_told_with_the_fix(state):
    with pytest.raises(InputError, match="Thing an attribute 'fingerprint'"):
        fingerprint_of(Thing(password="s3cret", **state))


def test_what_has_no_source_is_told_with_the_fix():
    code = "from quipukit.fingerprints import fingerprint_of\nclass Typed: pass\nfingerprint_of(Typed())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Typed has no source file to hash; give Typed an attribute 'fingerprint'" in done.stderr
