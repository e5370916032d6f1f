"""What an experiment sends to search systems over the wire, and what it keeps back."""

import dataclasses
from typing import Any

from quipukit.errors import InputError
from quipukit.experiment.inputs import Inputs, Setting
from quipukit.experiment.stages import Stages
from quipukit.retrieval.consent import are_originals, outgoing, sent_in_words
from quipukit.specs import format_value


def withhold(stages: Stages) -> None:
    """Leave out every setting that drew an original by chance, where none may be sent.

    The whole setting: to drop the variants that equal their original, and to send the others, would be another
    mechanism than the one whose law is known.
    """
    inputs = stages.inputs
    if not inputs.options.private:
        return
    drew: dict[Setting, int] = {}
    for cell in stages.cells:
        count = int(are_originals(stages.obfuscated(cell)["query"], inputs.queries["query"]).sum())
        if count:
            drew[cell.setting] = drew.get(cell.setting, 0) + count
    if not drew:
        return
    kept = [setting for setting in inputs.settings if setting not in drew]
    if all(setting.strategy == "reference" for setting in kept):
        raise InputError(
            f"every setting drew original queries, which would go to {inputs.options.remote[0]}; choose settings that "
            "hide more, or pass send_originals=True."
        )
    skipped = [{"spec": _name(setting), "reason": _reason(setting, count, inputs)} for setting, count in drew.items()]
    for refused in skipped:
        stages.clock.watch.say(f"left out: {refused['reason']}")
    stages.go_on_with(dataclasses.replace(inputs, settings=kept, skipped=[*inputs.skipped, *skipped]))


def announce(stages: Stages) -> None:
    """Say what goes over the wire, before it does."""
    for sent in outbound(stages):
        stages.clock.watch.say(f"over the wire: {sent_in_words(sent)}")


def _name(setting: Setting) -> str:
    return f"{setting.mechanism}@{format_value(setting.value)}" if setting.parameter else setting.mechanism


def _reason(setting: Setting, count: int, inputs: Inputs) -> str:
    return (
        f"{_name(setting)} drew {count:,} variants that are original queries, and {inputs.options.remote[0]} is over "
        "the wire; pass send_originals=True to send them."
    )


def outbound(stages: Stages) -> list[dict[str, Any]]:
    """Return what went to each search system over the wire: how many distinct texts, and how many originals in them."""
    inputs = stages.inputs
    if not inputs.options.remote:
        return []
    texts = list(dict.fromkeys(text for cell in stages.cells for text in stages.obfuscated(cell)["query"]))
    return [outgoing(texts, name, inputs.queries["query"]) for name in inputs.options.remote]
