"""Common noise: each setting keeps its law, and settings together have no finite guarantee."""

import functools
import math
from pathlib import Path

import numpy as np
import pytest

import quipukit as qk
from quipukit.cli import main
from quipukit.errors import InputError
from quipukit.guarantees import LocalDP, MetricDP, NoGuarantee, Together, joint
from quipukit.vectors.store import Vectors

LINE = Vectors(["zero", "one", "three"], [[0.0], [1.0], [3.0]])
N = 5_000


@functools.cache
def pairs(word: str, noise: str, seed: int = 3) -> list[tuple[str, str]]:
    sent = qk.obfuscate({"q": word}, ["CMP@1", "CMP@2"], N, vectors=LINE, seed=seed, noise=noise)
    first, second = (sent.loc[sent["value"] == value, "query"].tolist() for value in (1.0, 2.0))
    return list(zip(first, second, strict=True))


@pytest.mark.slow
def test_a_pair_of_outputs_is_impossible_from_one_word_and_likely_from_another():
    # On a line the noise is +-Y with Y ~ Exp(1) at epsilon 1, and half of that at epsilon 2. From 0, "three" at the
    # first and "one" at the second need a noise s > 2 with 0.5 < s / 2 < 2: probability (exp(-2) - exp(-4)) / 2.
    # From 3 they need s > -1 and s / 2 < -1 at once: impossible. So no epsilon bounds the ratio of the two.
    likely = (math.exp(-2) - math.exp(-4)) / 2
    assert likely == pytest.approx(0.0585, abs=1e-4)
    share = pairs("zero", "common").count(("three", "one")) / N
    # Six standard errors: false-alarm rate 2e-9 over the seeds.
    assert abs(share - likely) < 6 * math.sqrt(likely * (1 - likely) / N)
    assert pairs("three", "common").count(("three", "one")) == 0
    # Independent noise, the wrong twin of "impossible": (1 - exp(-1) / 2) * (exp(-2) - exp(-5)) / 2 = 0.053.
    assert pairs("three", "independent").count(("three", "one")) > 0.03 * N


def test_each_setting_keeps_its_law():
    # False-alarm rate 2e-9 for each of the four frequencies; doubled epsilon is the wrong twin.
    for place, epsilon in enumerate((1.0, 2.0)):
        stays = 1 - math.exp(-0.5 * epsilon) / 2
        found = np.mean([pair[place] == "zero" for pair in pairs("zero", "common")])
        wrong = 1 - math.exp(-epsilon) / 2
        assert abs(found - stays) < 6 * math.sqrt(stays * (1 - stays) / N) < abs(found - wrong)


def test_no_joint_budget_is_stated_for_shared_noise():
    shared = joint([("spherical", MetricDP(1)), ("spherical", MetricDP(2))])
    assert isinstance(shared, NoGuarantee) and not shared.private
    assert shared.composed(50) == shared
    assert joint([("CMP@1", MetricDP(1)), ("CMP@2", MetricDP(2))]) == MetricDP(3)
    assert joint([("CMP@1", MetricDP(1))]) == MetricDP(1)
    mixed = joint([("CMP@1", MetricDP(1)), ("CusText@2", LocalDP(2, "a group")), ("TEM@4", MetricDP(4))])
    assert mixed == Together((MetricDP(5), LocalDP(2, "a group")))
    assert str(mixed.composed(2)) == "10-metric DP (euclidean) per word + 4-DP among a group per word"
    assert isinstance(joint([("a", MetricDP(1)), ("b", NoGuarantee("it is sent"))]), NoGuarantee)


def test_common_noise_is_never_for_real_use():
    with pytest.raises(InputError, match="for experiments and needs a seed"):
        qk.obfuscate("one", ["CMP@1", "CMP@2"], 2, vectors=LINE, noise="common")


def test_tables_are_marked(tmp_path: Path):
    for noise in ("common", "independent"):
        sent = qk.obfuscate("one", ["CMP@1", "CMP@2"], 2, vectors=LINE, seed=1, noise=noise)
        qk.write_obfuscated(sent, tmp_path / "sent.csv")
        header, first, *_ = (tmp_path / "sent.csv").read_text().splitlines()
        assert header.endswith("n,noise,budget") and first.split(",")[-2] == noise
    qk.write_obfuscated(sent.copy().iloc[:1].reset_index(drop=True), tmp_path / "part.csv")


def test_the_command_says_what_holds_together(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))
    words = tmp_path / "vectors.txt"
    words.write_text("zero 0\none 1\nthree 3\n")

    def command(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(["obfuscate", "one three", "--vectors", str(words), "-m", "CMP", "-e", "1", "2", *arguments])
        return end.value.code, *capsys.readouterr()

    code, _, refused = command("--noise", "common")
    assert code == 2 and "needs a seed" in refused
    code, common, _ = command("--noise", "common", "--seed", "7", "-n", "3")
    assert not code and "all settings together, N = 3 (common noise): none: settings that share their noise" in common
    code, independent, _ = command("-n", "3")
    assert not code
    assert "all settings together, N = 3 (independent noise): 9-metric DP (euclidean) per word" in independent
    # Two words: what a query spends is twice what a word does.
    assert "CMP@2: 2-metric DP (euclidean) per word; N = 3, composed budget 6, per query 12" in independent
