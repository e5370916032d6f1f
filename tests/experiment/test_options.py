"""Options: checked when they are made, equal to what was written down."""

import json
from typing import Any

import numpy as np
import pytest

from quipukit.errors import InputError, SpecError
from quipukit.experiment.options import Options
from quipukit.retrieval.system import SystemSpec
from quipukit.specs import spec


def test_options_come_back_from_json_as_they_were() -> None:
    options = Options(
        specs=(spec("CusText(k=20)@10"), spec("AEA@3")),
        n=(20, 5),
        systems=(("bm25", "minilm"), ("dense", "bm25")),  # type: ignore[arg-type]
        attackers=("QuIA",),
        seed=np.int64(3),  # type: ignore[arg-type]
        topics=4,
    )
    written = json.loads(json.dumps(options.to_json()))
    assert Options.from_json(written) == options
    assert options.n == (5, 20) and options.seed == 3 and isinstance(options.seed, int)
    assert options.systems == (SystemSpec("bm25", "minilm"), SystemSpec("dense", "bm25"))


def test_one_value_will_do_where_several_may_stand() -> None:
    options = Options(specs="CMP@5", n=7, measures="AP", attackers="QuIA")  # type: ignore[arg-type]
    assert (options.specs, options.n, options.measures) == ((spec("CMP@5"),), (7,), ("AP",))


@pytest.mark.parametrize(
    ("choice", "argument"),
    [
        ({"k": 0}, "k"),
        ({"seeds": 1.5}, "seeds"),
        ({"examples": True}, "examples"),
        ({"depth": 0}, "depth"),
        ({"noise": "loud"}, "noise"),
        ({"attackers": ()}, "attackers"),
        ({"systems": ()}, "systems"),
    ],
)
def test_a_wrong_value_names_its_argument(choice: dict[str, Any], argument: str) -> None:
    with pytest.raises(InputError) as caught:
        Options(**choice)
    assert argument in caught.value.arguments


def test_an_unknown_mechanism_is_refused() -> None:
    with pytest.raises(SpecError, match="did you mean CMP"):
        Options(specs=("CMQ@5",))  # type: ignore[arg-type]


def test_engines_receive_independent_noise_and_no_identity() -> None:
    remote = Options(systems=(SystemSpec("solr+http://host/solr/news", "bm25"),))
    assert remote.remote == ["solr+http://host/solr/news"] and remote.private
    assert remote.noise == "independent" and remote.references == ("Random",)
    assert Options().noise == "common" and Options().references == ("Identity", "Random")


def test_where_queries_hide_among_others_the_prior_of_style_joins_the_attackers() -> None:
    from quipukit.experiment.options import usual_attackers

    assert usual_attackers(["CMP"]) == ("panel", "Bayes")
    assert usual_attackers(["CMP", "Cover@50"])[-1] == "Bayes(prior=style)"
