"""What a search promises, in plain words."""

from quipukit.guarantees import Guarantee, LocalDP, MetricDP, WithinGroup, WithinNodes
from quipukit.mechanisms.base import Mechanism
from quipukit.specs import format_value

DEFAULT = "StickyCover(members=100)@1000"
REASON = (
    f"{DEFAULT}: the engine gets a fixed list of 100 public queries that is the same for any of the 1,000 or more "
    "queries of its topic, once in a session; of the settings measured on whole sessions it is the one that the "
    "strongest attacker finds least in while three quarters of what the query finds are kept (docs/sessions.md)."
)


def reason_of(mechanism: Mechanism) -> str:
    """Return in one sentence why this mechanism hides the queries."""
    if repr(mechanism.spec) == DEFAULT:
        return REASON
    return f"{mechanism.spec!r}: chosen by you; it promises {mechanism.guarantee}."


def guarantee_in_words(guarantee: Guarantee) -> str:
    """Return what is promised for one query."""
    if isinstance(guarantee, WithinGroup):
        return " ".join(guarantee.promises)
    if isinstance(guarantee, MetricDP | LocalDP):
        return (
            f"Differential privacy with epsilon {format_value(guarantee.epsilon)} for each text that leaves "
            f"({guarantee}); a smaller epsilon hides more."
        )
    if not guarantee.private:
        return f"Nothing is promised ({guarantee})."
    return f"{guarantee}."


def composed_in_words(guarantee: Guarantee, texts: int, nodes: int) -> str:
    """Return what is promised for all texts of a query together, or for a session of ``nodes`` released nodes."""
    if isinstance(guarantee, WithinNodes):
        topics = "1 topic" if nodes == 1 else f"{nodes} topics"
        return (
            f"{topics} released in this session, this query's included; asking again under one releases nothing more."
        )
    if isinstance(guarantee, WithinGroup):
        return "Asking the same again sends the same group, and releases nothing but that it was asked again."
    if not guarantee.private:
        return "Nothing is promised for several texts, either."
    return f"All {texts} texts of this query together: {guarantee.composed(max(1, texts))}."
