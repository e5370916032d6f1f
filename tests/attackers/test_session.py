"""The session attacker: Bayes for one query, far more for several, and no more where nothing is to be had."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.attackers.base import KnownLog, KnownSetting, Sent
from quipukit.attackers.bayes import Bayes
from quipukit.attackers.planted import Planted
from quipukit.attackers.session import Candidates, Session, best_of
from quipukit.errors import SpecError
from quipukit.measures.intervals import clopper_pearson
from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.cover import Cover
from tests.covers.pools import partition, pool
from tests.examples import slowly

K = 20
STATIC = "static:default"


def planted() -> Planted:
    """Return a session for every query of the pool, of its ten nearest: sixty would be a third of this pool."""
    texts = pool().texts
    asked = {f"q{number}": text for number, text in enumerate(texts)}
    return qk.plant_sessions(asked, texts, STATIC, 5, 1, nearest=(1, 10))


def in_groups() -> Cover:
    return Cover(k=K, cover=partition())


def at_random() -> Cover:
    """Decoys: groups of queries that have nothing in common."""
    order = np.random.default_rng(1).permutation(len(pool())).astype(np.int32)
    return Cover(k=K, cover=dataclasses.replace(partition(), order=order))


def risks(mechanism: Mechanism, sessions: Planted, **options: object) -> "dict[int, float]":
    sent = qk.obfuscate(sessions.queries, mechanism, n=1, seed=1)
    ranks = qk.session_attack(
        sent, sessions.queries, sessions.sessions, pool().texts, encoder=STATIC, mechanisms=[mechanism], **options
    )
    means = qk.session_risk(ranks)
    own = means[means["measure"] == "R@10"]
    return dict(zip(own["length"], own["risk"], strict=True))


def are_above(risk: float, bound: float, count: int) -> bool:
    """Return whether a share of so many sessions is above a bound; by chance in one of 10,000 cases."""
    return 1 - clopper_pearson((1 - risk) * count, count, 1e-4) > bound


@pytest.mark.parametrize("mechanism", [in_groups(), *slowly(at_random())], ids=["similar", "random"])
def test_one_query_stays_at_the_bound_and_several_are_found_above_it(mechanism: Cover) -> None:
    own = planted()
    found, count = risks(mechanism, own), own.sessions["sid"].nunique()
    sizes = np.diff(partition().starts(K))
    bound = sum(np.minimum(10 / sizes, 1) * sizes) / sizes.sum()  # every query of the pool is the last of a session
    assert found[1] == pytest.approx(bound)
    assert all(are_above(found[length], bound, count) for length in (2, 3, 5))


def test_earlier_queries_of_other_sessions_help_nobody() -> None:
    """A control for the test above: with what came before exchanged between sessions, nothing is above the bound."""
    own = planted()
    table = own.sessions.copy()
    earlier = table["position"] < table.groupby("sid")["position"].transform("max")
    shuffled = np.random.default_rng(5).permutation(table.loc[earlier, "qid"].to_numpy())
    table.loc[earlier, "qid"] = shuffled
    for mechanism in (in_groups(), at_random()):
        found = risks(mechanism, Planted(table, own.queries))
        count = len(own.sessions["sid"].unique())
        assert not any(are_above(found[length], found[1], count) for length in (2, 3, 5))


def known(mechanism: Mechanism) -> KnownSetting:
    return KnownSetting(mechanism.spec.family, mechanism.parameter, mechanism.value, mechanism)


def prepared(cls: "type[Session] | type[Bayes]", **options: object) -> "Session | Bayes":
    made = cls(**options)  # type: ignore[arg-type]
    made.prepare(KnownLog(sorted(pool().texts), np.ones(len(pool()), np.int64)))
    return made


@pytest.fixture(scope="module")
def session() -> Session:
    made = prepared(Session, encoder=qk.load_encoder(STATIC))
    assert isinstance(made, Session)
    return made


@pytest.mark.parametrize("spec", [pytest.param("CMP@10", marks=pytest.mark.slow), "TEM@5", "Identity"])
def test_without_a_session_it_is_bayes(session: Session, spec: str) -> None:
    mechanism = qk.mechanism(spec)
    sent = Sent(tuple(mechanism.obfuscate("cat history", 5, np.random.default_rng(1))), known(mechanism))
    assert np.array_equal(session.scores(sent), prepared(Bayes).scores(sent))


def best(session: Session, sent: Sent) -> "list[str]":
    scores = session.scores(sent)
    return [text for text, score in zip(sorted(pool().texts), scores, strict=True) if score == scores.max()]


def test_a_query_that_was_asked_twice_is_found_by_what_both_have_in_common(session: Session) -> None:
    one, two = (tuple(np.random.default_rng(seed).permutation(pool().texts)[:5]) for seed in (1, 2))
    assert not set(one) & set(two) and "cat" not in one + two
    setting = known(DecoyCover())
    assert set(best(session, Sent(("cat", *one), setting))) == {"cat", *one}
    assert best(session, Sent(("cat", *one), setting, earlier=(("cat", *two),))) == ["cat"]


def test_the_order_of_texts_says_nothing(session: Session) -> None:
    setting, one, two = known(in_groups()), partition().members(0, K), partition().members(1, K)
    scores = session.scores(Sent(tuple(one), setting, earlier=(tuple(two),)))
    assert np.array_equal(scores, session.scores(Sent(tuple(one[::-1]), setting, earlier=(tuple(two[::-1]),))))


@pytest.mark.parametrize("spec", ["TEM@5", "cover"])
def test_sessions_scored_together_have_the_scores_of_each_alone(session: Session, spec: str) -> None:
    """Of covers what came before is shared by many sessions, and of words by none; there are more than one block."""
    mechanism = in_groups() if spec == "cover" else qk.mechanism(spec)
    rng, texts = np.random.default_rng(3), pool().texts
    sent = [tuple(mechanism.obfuscate(text, 3, rng)) for text in texts[:24]]
    pairs = [(one, two) for one in range(24) for two in (one + 1, one + 7)]
    batch = [Sent(sent[one], known(mechanism), earlier=(sent[two % 24], sent[one - 2])) for one, two in pairs]
    for one, scores in zip(batch, session.scores_of(batch), strict=True):
        np.testing.assert_allclose(scores, session.scores(one), rtol=1e-9, atol=1e-6)  # related in float32


def test_among_thousands_that_are_level_none_is_left_out() -> None:
    """As where a last query is answered locally: it may be any query of the nodes that were sent."""
    many = sorted({*pool().texts, *(f"{one} {number}" for one in ("cat", "tax", "song") for number in range(1500))})
    attacker = Session(encoder=qk.load_encoder(STATIC), prior="uniform")
    attacker.prepare(KnownLog(many, np.ones(len(many), np.int64)))
    setting = known(DecoyCover())
    for text in ("how to find a good piano", "fever history", "what is a violin"):
        scores = attacker.scores(Sent(tuple(many), setting, earlier=((text,),)))
        assert many[int(scores.argmax())] == text


class _Members:
    """The law of decoys: whatever was sent is equally likely."""

    def __init__(self, candidates: "list[str]") -> None:
        self.candidates = candidates

    def log_likelihoods(self, texts: "list[str]") -> "np.ndarray":
        return np.where(np.isin(self.candidates, list(texts)), 0.0, -np.inf)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DecoyCover(Cover):
    """Fresh decoys at each repetition."""

    k: float = K
    cover: object = dataclasses.field(default_factory=partition, repr=False)  # type: ignore[assignment]

    def query_law(self, candidates: "list[str]") -> _Members:  # type: ignore[override]
        return _Members(list(candidates))


def test_mechanisms_without_a_law_are_attacked_by_similarity() -> None:
    own = planted()
    some = own.sessions[own.sessions["sid"].isin(own.sessions["sid"].unique()[:20])]
    asked = own.queries[own.queries["qid"].isin(some["qid"])]
    rows = [(qid, 0, f"{text} zzz", "Theirs", "level", 1.0) for qid, text in asked.itertuples(index=False)]
    sent = pd.DataFrame(rows, columns=["qid", "variant", "query", "mechanism", "parameter", "value"])
    ranks = qk.session_attack(sent, asked, some, pool().texts, encoder=STATIC)
    assert ranks[ranks["length"] == 1]["log_rank"].median() <= 2
    assert np.isfinite(ranks["log_rank"]).all()


def test_the_best_rows_are_kept_with_those_that_are_level() -> None:
    many = best_of(np.arange(10_000), np.zeros(10_000), 200)
    assert isinstance(many, Candidates) and len(many.rows) == 500 and many.rows[-1] == 9999
    assert len(best_of(np.arange(10_000), np.zeros(10_000), 1000, np.inf, 20_000).rows) == 10_000
    assert best_of(np.arange(4), np.array([0.0, -90, -1, -80]), 3).rows.tolist() == [0, 2]


def test_sharpness_is_checked() -> None:
    with pytest.raises(SpecError, match="sharpness must lie between"):
        Session(encoder=qk.load_encoder(STATIC), sharpness=0)
