"""Settings name themselves, and know what they spend and promise."""

import math

import numpy as np

from quipukit.mechanisms.aea import AEA
from quipukit.mechanisms.cmp import CMP
from quipukit.settings import SETTING, Setting, setting_name
from quipukit.vectors.store import Vectors

PETS = Vectors(["cat", "dog"], np.eye(2))


def test_a_setting_of_a_mechanism() -> None:
    setting = Setting.of(CMP(epsilon=12.5, vectors=PETS), 20)
    assert str(setting) == "CMP@12.5" and setting.key == ("CMP", "epsilon", 12.5)
    assert setting.columns == dict(zip(SETTING, setting.key, strict=True))
    assert setting.budget == 250 and setting.private
    assert setting.guarantee == "12.5-metric DP (euclidean) per word"
    assert setting.strategy == "embedding perturbation"


def test_settings_are_equal_by_what_they_are_and_not_by_their_objects() -> None:
    one, other = (Setting.of(CMP(epsilon=5, vectors=PETS), 3) for _ in range(2))
    assert one == other and len({one, other}) == 1
    assert one != Setting.of(CMP(epsilon=5, vectors=PETS), 4)


def test_a_parameter_that_is_no_epsilon_spends_no_budget() -> None:
    setting = Setting.of(AEA(level=3), 20)
    assert math.isnan(setting.budget) and not setting.private


def test_what_was_obfuscated_elsewhere_promises_nothing_that_is_known() -> None:
    setting = Setting("Theirs", "epsilon", 5.0, 10)
    assert setting.guarantee == "not known: obfuscated elsewhere" and not setting.private
    assert setting.budget == 50


def test_names_are_written_as_specs() -> None:
    assert setting_name("CusText(k=20)", "epsilon", 10.0) == "CusText(k=20)@10"
    assert setting_name("Random", "", 0.0) == "Random"
