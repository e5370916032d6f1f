"""What there is to choose from, plugins among it."""

import json
from dataclasses import dataclass

import pytest

from quipukit.cli.listing import list_all
from quipukit.mechanisms.cmp import CMP
from quipukit.plugins import temporarily_installed
from quipukit.retrieval.engines import Anserini


@dataclass(frozen=True, kw_only=True)
class Foreign(CMP):
    name = "Foreign"


class Marmot(Anserini):
    kind = "marmot"


@pytest.mark.heavy
def test_plugins_are_listed(capsys):
    with (
        temporarily_installed("quipukit.retrievers", overlap=len),
        temporarily_installed("quipukit.engines", marmot=Marmot),
        temporarily_installed("quipukit.rerankers", longest=len),
        temporarily_installed("quipukit.encoders", letters=len),
        temporarily_installed("quipukit.collections", colors=len),
        temporarily_installed("quipukit.mechanisms", Foreign=Foreign),
    ):
        list_all(as_json=True)
    content = json.loads(capsys.readouterr().out)
    shown = json.dumps(content)
    assert all(f'"name": "{name}"' in shown for name in ("overlap", "longest", "letters", "colors"))
    assert "solr, searxng, marmot" in shown
    assert '"guarantee": "claimed: 10-metric DP (euclidean) per word"' in shown  # nobody has audited it
    assert {one["name"] for one in content["mechanisms"] if one["sends_original"]} == SENDERS


SENDERS = {"Cover", "StickyCover", "Decoys", "Identity"}


@pytest.mark.heavy
def test_who_sends_the_query_itself_is_said(capsys):
    list_all(as_json=False)
    shown = " ".join(capsys.readouterr().out.split())
    assert "Cover, Decoys, StickyCover and Identity send the query itself by design" in shown
