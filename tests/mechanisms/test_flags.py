"""Flags open doors, so nothing but True opens them: "no", 1 and 0.5 are refused, in every mechanism."""

import numpy as np
import pytest

from quipukit.errors import SpecError
from quipukit.mechanisms.base import option_fields
from quipukit.obfuscation import mechanism
from quipukit.registry import mechanism_class, mechanism_names
from quipukit.specs import Spec
from quipukit.vectors.store import Vectors

VECTORS = Vectors([f"word{letter}" for letter in "abcdefgh"], np.eye(8))
FLAGS = [
    (name, field.name)
    for name in mechanism_names()
    for field in option_fields(mechanism_class(name))
    if isinstance(field.default, bool)
]


@pytest.mark.parametrize(("name", "flag"), FLAGS)
@pytest.mark.parametrize("value", ["no", "False", 1, 0, 0.5, None])
def test_a_flag_is_true_or_false(name, flag, value):
    cls = mechanism_class(name)
    with pytest.raises(SpecError, match=f"{flag} must be True or False"):
        mechanism(Spec(name, ((flag, value),), cls.default if cls.parameter else None), VECTORS)


def test_there_are_flags_to_check():
    assert ("AEA", "unsafe") in FLAGS and ("CMP", "unsafe") in FLAGS and len(FLAGS) > 10
