"""What an experiment sends to search systems over the network."""

from typing import Any

from quipukit.experiment.stages.obfuscate import Obfuscate
from quipukit.retrieval.consent import are_originals, outgoing
from quipukit.settings import Setting


def settings_with_originals(obfuscate: Obfuscate) -> dict[Setting, int]:
    """Return the settings that drew original queries by chance, with how many variants."""
    drew: dict[Setting, int] = {}
    for cell in obfuscate.cells:
        count = int(are_originals(obfuscate.sent(cell)["query"], obfuscate.plan.queries["query"]).sum())
        if count:
            drew[cell.setting] = drew.get(cell.setting, 0) + count
    return drew


def outgoing_texts(obfuscate: Obfuscate) -> list[dict[str, Any]]:
    """Return what goes to each system over the network: how many distinct texts, and how many originals among them."""
    plan = obfuscate.plan
    if not plan.options.remote:
        return []
    texts = list(dict.fromkeys(text for cell in obfuscate.cells for text in obfuscate.sent(cell)["query"]))
    return [outgoing(texts, name, plan.queries["query"]) for name in plan.options.remote]
