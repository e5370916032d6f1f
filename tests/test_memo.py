"""A memo sends the same variants again: what it keeps, what it reveals, and what an attacker gains without one."""

import json
import stat
import threading

import numpy as np
import pytest

from quipukit.attackers.base import KnownSetting, Sent
from quipukit.attackers.bayes import Bayes
from quipukit.errors import FileError, InputError
from quipukit.guarantees import MetricDP
from quipukit.memo import Memo
from quipukit.obfuscation import mechanism
from tests.attackers import toy

PLACES = toy.vectors()
QUERY = "ant bee"


@pytest.fixture(autouse=True)
def own_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_SECRET_FILE", str(tmp_path / "settings" / "secret.key"))


def memo(file=None, spec="SanText@1", n=5):
    return Memo(spec, n, file, vectors=PLACES)


def test_the_same_query_sends_the_same_variants_and_others_send_their_own():
    one = memo()
    first = one.obfuscate(QUERY)
    assert len(first) == 5 and one.obfuscate("  Ant\tBEE ") == first and len(one) == 1
    first.append("changed by the caller")
    assert len(one.obfuscate(QUERY)) == 5
    one.obfuscate("cat dog")
    assert len(one) == 2
    fresh = {tuple(memo().obfuscate(QUERY)) for _ in range(5)}
    assert len(fresh) > 1  # nothing is seeded by the query


def test_a_file_is_found_again_and_holds_no_query(tmp_path):
    file = tmp_path / "kept" / "memo.json"
    first = memo(file).obfuscate("jay zzqqvx", np.random.default_rng(1))
    assert memo(file).obfuscate("Jay zzqqvx") == first
    content = file.read_text()
    assert "zzqqvx" not in content and "zzqqvx" not in file.name
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["memo.json"]
    (name,) = json.loads(content)["variants"]
    assert len(name) == 64


def test_a_file_of_another_secret_confirms_no_guess(tmp_path, monkeypatch):
    file = tmp_path / "memo.json"
    memo(file).obfuscate(QUERY)
    monkeypatch.setenv("QUIPUKIT_SECRET_FILE", str(tmp_path / "other" / "secret.key"))
    with pytest.raises(FileError, match=r"another secret.*QUIPUKIT_SECRET_FILE"):
        memo(file)
    other = tmp_path / "other.json"
    memo(other).obfuscate(QUERY)
    assert json.loads(other.read_text())["variants"].keys() != json.loads(file.read_text())["variants"].keys()


def test_two_that_share_a_file_agree(tmp_path):
    file = tmp_path / "memo.json"
    both = [memo(file), memo(file)]
    sent: list[list[str]] = []
    threads = [threading.Thread(target=lambda one=one: sent.append(one.obfuscate(QUERY))) for one in both * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sent) == 8 and all(one == sent[0] for one in sent)
    both[0].obfuscate("cat dog")
    both[1].obfuscate("eel fox")
    assert len(memo(file)) == 3


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"spec": "SanText@2"}, "holds variants of SanText@1, and SanText@2 is asked for; name a file of its own"),
        ({"n": 6}, "holds 5 variants of each query, and 6 are asked for"),
    ],
)
def test_a_file_of_another_setting_is_refused(tmp_path, options, fault):
    file = tmp_path / "memo.json"
    memo(file).obfuscate(QUERY)
    with pytest.raises(FileError, match=fault):
        memo(file, **options)


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"variants": 3}', '{"variants": {"a": [3]}}', "nonsense"])
def test_a_damaged_file_is_refused_and_left_alone(tmp_path, content):
    file = tmp_path / "memo.json"
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(FileError, match="delete it, or name another file"):
        memo(file)
    assert file.read_text() == content


def test_what_cannot_be_remembered_is_not_sent(tmp_path):
    file = tmp_path / "folder"
    one = memo(file)
    file.mkdir()
    with pytest.raises(IsADirectoryError):
        one.obfuscate(QUERY)
    assert len(one) == 0


def test_a_file_that_others_may_read_is_told(tmp_path):
    file = tmp_path / "memo.json"
    memo(file).obfuscate(QUERY)
    file.chmod(0o644)
    with pytest.warns(UserWarning, match="chmod 600"):
        memo(file)


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="must be a text"):
        memo().obfuscate(None)
    with pytest.raises(InputError, match="at least 1"):
        memo(n=0)


def test_what_is_promised_does_not_grow_with_the_times_a_query_is_asked():
    assert memo().guarantee == MetricDP(5)
    assert memo(spec="SanText(budget='total')@1").guarantee == MetricDP(1)


def test_without_a_memo_the_risk_of_a_repeated_query_rises():
    """Exact P@1 cannot be added up for so many texts: 150 queries drawn from the prior, each asked five times."""
    one = mechanism("SanText@1", vectors=PLACES)
    prior = toy.COUNTS / toy.COUNTS.sum()
    attacker = Bayes(vectors=PLACES)
    attacker.prepare(toy.log())
    rng = np.random.default_rng(5)
    words = [toy.WORDS[row] for row in rng.choice(len(toy.WORDS), 150, p=prior)]

    def found(texts, word):
        setting = KnownSetting(one.spec.family, one.parameter, one.value, one)
        return toy.WORDS[int(np.argmax(attacker.scores(Sent(tuple(texts), setting))))] == word

    once, without, with_memo = [], [], []
    for word in words:
        kept = Memo(one, 4)
        asked = [kept.obfuscate(word, rng) for _ in range(5)]
        once.append(found(asked[0], word))
        # Who sees the same four texts five times has seen four texts.
        assert all(texts == asked[0] for texts in asked)
        with_memo.append(found(asked[-1], word))
        without.append(found([*asked[0], *(text for _ in range(4) for text in one.obfuscate(word, 4, rng))], word))
    assert with_memo == once
    # Paired: some forty of 150 words are found with twenty texts and not with four.
    gained = sum(many and not few for many, few in zip(without, once, strict=True))
    lost = sum(few and not many for many, few in zip(without, once, strict=True))
    assert gained > lost + 15
