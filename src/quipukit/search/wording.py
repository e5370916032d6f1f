"""What a search promises, and what it warns of, in plain words."""

from quipukit.guarantees import Guarantee, LocalDP, MetricDP, WithinGroup
from quipukit.mechanisms.base import Mechanism
from quipukit.specs import format_value

DEFAULT = "StickyCover(members=100)@1000"
REASON = (
    f"{DEFAULT}: the engine gets a fixed list of 100 public queries, the same for any of the 1,000 or more queries of "
    "its topic, once in a session; of 15 settings measured on whole sessions it was the best that keeps the strongest "
    "attacker below .20 with ten guesses (docs/sessions.md)."
)

NOTHING_TO_SEND = "The mechanism found nothing to send for this query, so nothing leaves, and nothing is found."
NOTHING_SHOWN = (
    "The engine shows neither titles nor snippets, so the documents are in the order of their ranks; name the fields "
    "that it shows in its address (docs/engines.md)."
)
DRAWN_ITSELF = (
    "At this setting the mechanism drew your query itself, so nothing leaves: choose a smaller epsilon, or a cover. "
    "(To draw again until it fits would change what the mechanism promises.)"
)


def in_the_open(mechanism: str) -> str:
    """Say that the query itself is among what a mechanism sends, where no group hides it."""
    return f"Your query itself is among these texts, as {mechanism} drew it; over the network it would not be sent."


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
