"""The stages in their order, and what may leave this machine between them."""

from quipukit.errors import InputError
from quipukit.experiment.outbound import outgoing_texts, settings_with_originals
from quipukit.experiment.stages.attack import Attack
from quipukit.experiment.stages.base import Context
from quipukit.experiment.stages.ceiling import Ceiling
from quipukit.experiment.stages.growth import Growth
from quipukit.experiment.stages.guesses import Guesses
from quipukit.experiment.stages.need import Need
from quipukit.experiment.stages.obfuscate import Obfuscate
from quipukit.experiment.stages.retrieve import Retrieve
from quipukit.experiment.stages.risk import Risk
from quipukit.experiment.stages.sessions import Sessions
from quipukit.experiment.stages.text_similarity import TextSimilarity
from quipukit.experiment.stages.utility import Utility
from quipukit.retrieval.consent import sent_in_words


class Pipeline:
    """All stages of one run; `run` goes through them once."""

    def __init__(self, context: Context) -> None:
        """Connect the stages; nothing is computed."""
        self.context = context
        self.obfuscate = Obfuscate(context)
        self.retrieve = Retrieve(context, self.obfuscate)
        self.utility = Utility(context, self.retrieve)
        self.ceiling = Ceiling(context, self.retrieve, self.utility)
        self.attack = Attack(context, self.obfuscate)
        self.risk = Risk(context, self.attack)
        self.guesses = Guesses(context, self.attack)
        self.growth = Growth(context, self.attack)
        self.sessions = Sessions(context, self.obfuscate)
        self.text_similarity = TextSimilarity(context, self.obfuscate)
        self.need = Need(context, self.retrieve, self.attack, self.text_similarity)

    def run(self) -> None:
        """Compute what is missing, stage by stage."""
        self.obfuscate.run()
        self._withhold_originals()
        self._announce()
        for stage in (self.retrieve, self.utility, self.ceiling):
            stage.run()
        for attacking in (self.attack, self.risk, self.guesses, self.growth):
            attacking.run()
        self.sessions.run()
        self.text_similarity.run()
        self.need.run()

    def _withhold_originals(self) -> None:
        """Leave out every setting that drew an original by chance, where none may be sent.

        The whole setting: to drop the variants that equal their original, and to send the others, would be another
        mechanism than the one whose law is known.
        """
        plan = self.context.plan
        if not plan.options.private:
            return
        drew = settings_with_originals(self.obfuscate)
        if not drew:
            return
        kept = [setting for setting in plan.settings if setting not in drew]
        if all(setting.strategy == "reference" for setting in kept):
            raise InputError(
                f"every setting drew original queries, which would go to {plan.options.remote[0]}; choose settings "
                "that hide more, or pass send_originals=True.",
                argument="send_originals",
            )
        skipped = [
            {
                "spec": str(setting),
                "reason": f"{setting} drew {count:,} variants that are original queries, and {plan.options.remote[0]} "
                "is over the network; pass send_originals=True to send them.",
            }
            for setting, count in drew.items()
        ]
        for one in skipped:
            self.context.timer.listener.say(f"left out: {one['reason']}")
        self.context.plan = plan.without(set(drew), skipped)

    def _announce(self) -> None:
        """Say what goes over the network, before it does."""
        for sent in outgoing_texts(self.obfuscate):
            self.context.timer.listener.say(f"over the network: {sent_in_words(sent)}")
