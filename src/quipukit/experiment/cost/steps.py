"""The stages of an experiment as amounts of work, and how long each is likely to take."""

from collections.abc import Iterator
from dataclasses import dataclass

from quipukit.encoders.half import unrounded
from quipukit.encoders.static import StaticEncoder
from quipukit.experiment.cost.amounts import Amounts, Texts, by_kind
from quipukit.experiment.cost.lengths import filled
from quipukit.experiment.cost.rates import Rates

_MINILM = 384  # dimensions: other models are taken to cost as the square of theirs


@dataclass(frozen=True)
class Step:
    """One stage of the plan: how much there is to do, in which unit, and whether that is known or estimated."""

    stage: str
    amount: float
    unit: str
    seconds: float
    known: bool = True
    tokens: float = 0.0  # of one text, in the mean, where texts are encoded

    @property
    def units(self) -> str:
        """Return the unit, of texts with how long they are."""
        return f"{self.unit} of {self.tokens:.0f} tokens" if self.tokens and self.amount else self.unit


def steps(amounts: Amounts, rates: Rates) -> list[Step]:
    """Return all stages, in their order; what is finished takes no time."""
    attacking = list(_attacking(amounts, rates))
    working = [*_searching(amounts, rates), *attacking, *_comparing(amounts, rates)]
    todo = any(step.amount for step in working)
    models = {
        one.encoder.fingerprint
        for one in (*documents_of(amounts), amounts.log, *_sent(amounts))
        if one.count and not isinstance(unrounded(one.encoder), StaticEncoder)
    }
    seconds = rates.start + rates.transformer_start * len(models) if todo else 0.0
    settings = len(amounts.plan.settings)
    drawn = rates.report_attacker * len(amounts.plan.attackers) + rates.report_setting * settings
    reporting = rates.report + drawn if todo else 0.0
    return [
        Step("start", int(todo), "process", seconds),
        *working,
        Step("assemble and report", settings if todo else 0, "settings", reporting),
    ]


def seconds_to_encode(texts: Texts, rates: Rates) -> float:
    """Return how long texts take, by their number and their tokens."""
    if isinstance(unrounded(texts.encoder), StaticEncoder):
        return texts.count * (rates.static_text + rates.static_token * texts.tokens)
    larger = (texts.encoder.dimension / _MINILM) ** 2
    rows = filled(texts.count, texts.tokens, texts.rounds)
    return rows * (rates.transformer_text + rates.transformer_token * texts.tokens) * larger


def _searching(amounts: Amounts, rates: Rates) -> Iterator[Step]:
    plan, drawn = amounts.plan, len(amounts.missing)
    yield Step(
        "obfuscate",
        amounts.words,
        "words",
        amounts.words * rates.word + drawn * rates.setting,
        not _own_counts(amounts),
    )
    indexed = amounts.unindexed
    yield Step("index", indexed, "documents", indexed * amounts.document_words * rates.index_word if indexed else 0.0)
    per_text = rates.search + rates.search_document * len(plan.collection)
    texts = len(amounts.known_texts) + amounts.drawn_texts
    searched = len(plan.options.systems) * texts if amounts.unsearched else 0.0
    yield Step("search", searched, "queries", searched * per_text, not drawn)
    if not plan.judged:
        return
    documents = list(documents_of(amounts))
    count, tokens = _sums(documents)
    seconds = sum(seconds_to_encode(one, rates) for one in documents)
    yield Step("encode documents", count, "documents", seconds, False, tokens)
    measured = len(amounts.unmeasured) * (2 if amounts.pipeline.ceiling.cells else 1)
    yield Step("re-rank and measure", measured, "cells", measured * rates.cell)


def _attacking(amounts: Amounts, rates: Rates) -> Iterator[Step]:
    plan, log = amounts.plan, amounts.log
    yield Step("encode the log", log.count, "queries", seconds_to_encode(log, rates), tokens=log.tokens)
    sent = next(_sent(amounts))
    encoding = seconds_to_encode(sent, rates)
    yield Step("encode obfuscated queries", sent.count, "queries", encoding, not amounts.missing, sent.tokens)
    kinds = by_kind(plan.attackers)
    learning = len(plan.log) * len(kinds["words"]) if amounts.cells else 0
    yield Step("learn the log", learning, "queries", learning * rates.learned)
    pairs = {"vectors": rates.pair, "words": rates.pair_words, "law": rates.pair_law}
    laws = amounts.law_pairs if kinds["law"] else 0.0
    seconds = laws * rates.law + amounts.cells * len(plan.attackers) * rates.attacked
    seconds += sum(amounts.comparisons(kinds[kind]) * rate for kind, rate in pairs.items())
    yield Step("rank the log", amounts.comparisons(plan.attackers), "comparisons", seconds)
    fewer = float(amounts.rankings_after_fewer * len(plan.queries) * len(plan.log))
    usual = sum(len(kinds[kind]) * rate for kind, rate in pairs.items()) / len(plan.attackers)
    yield Step("rank it after fewer variants", fewer, "comparisons", fewer * usual)
    if amounts.pipeline.sessions.cells:
        words, compared = amounts.sessions()
        yield Step("obfuscate queries of sessions", words, "words", words * rates.word, not words)
        taken = compared * rates.pair * rates.sessions
        yield Step("rank the log for sessions", compared, "comparisons", taken)


def _comparing(amounts: Amounts, rates: Rates) -> Iterator[Step]:
    attacking, *comparing = _sent(amounts)
    own = [one for one in comparing if one.encoder.fingerprint != attacking.encoder.fingerprint]
    texts = sum(one.count for one in own)
    seconds = sum(seconds_to_encode(one, rates) for one in own) + amounts.cells * rates.attacked
    yield Step("compare texts", texts or amounts.cells, "texts" if texts else "cells", seconds, not amounts.missing)
    guessed = len(amounts.plan.attackers) * amounts.cells * len(amounts.plan.options.systems)
    guessed = guessed if amounts.plan.judged else 0
    yield Step("search the guesses", guessed, "cells", guessed * rates.guessed)


def documents_of(amounts: Amounts) -> Iterator[Texts]:
    """Return what is encoded of the documents, for each encoder once."""
    by_encoder: dict[str, Texts] = {}
    for system in amounts.plan.options.systems if amounts.plan.judged else ():
        texts = amounts.documents(system)
        if texts is not None:
            known = by_encoder.setdefault(texts.encoder.fingerprint, texts)
            by_encoder[texts.encoder.fingerprint] = max(known, texts, key=lambda one: one.count)
    yield from by_encoder.values()


def _sent(amounts: Amounts) -> Iterator[Texts]:
    """Return the variants that are encoded: for the attackers, and to compare them with the originals."""
    encodes = any(getattr(one, "encoder", None) is not None for one in amounts.plan.attackers)
    texts = amounts.sent_texts(amounts.plan.encoder)
    yield texts if encodes else Texts(texts.encoder, 0.0, texts.tokens)
    yield amounts.sent_texts(amounts.pipeline.text_similarity.encoder)


def _own_counts(amounts: Amounts) -> bool:
    return any(cell.setting.bound is not None and cell.setting.bound.own_count for cell in amounts.missing)


def _sums(texts: list[Texts]) -> tuple[float, float]:
    """Return how many texts there are, and how long they are in the mean."""
    count = sum(one.count for one in texts)
    return count, sum(one.count * one.tokens for one in texts) / count if count else 0.0
