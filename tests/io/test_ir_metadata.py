"""The metadata of runs: YAML that says what the schema asks for."""

import json

import pytest

from quipukit.io.ir_metadata import Metadata, Stage, sidecar_of
from tests.cli.test_cli import run

yaml = pytest.importorskip("yaml", reason="needs PyYAML, of the extra test")

STAGES = [Stage("bm25", "bm25", {"depth": 10, "k1": 0.9}), Stage("minilm", "minilm", reranks="bm25")]
COMPONENTS = ["platform", "implementation", "method", "actor", "data"]


def test_the_file_is_yaml_with_every_component_of_the_schema():
    text = Metadata("CMP@10", STAGES, "irds:vaswani/judged", command="quipukit retrieve").to_yaml()
    lines = text.splitlines()
    assert (lines[0], lines[-1]) == ("# ir_metadata.start", "# ir_metadata.end")
    content = yaml.safe_load(text)
    assert list(content) == ["schema-version", "run-version", "tag", *COMPONENTS]
    assert "# research goal: please add" in text and "# actor: please add" in text
    assert content["tag"] == "CMP@10"
    assert content["method"]["retrieval"] == [stage.as_mapping() for stage in STAGES]
    assert content["method"]["automatic"] is True
    assert content["data"]["test collection"]["ir_datasets"] == "https://ir-datasets.com/vaswani"
    assert content["platform"]["hardware"]["cpu"]["number of cores"] >= 1
    assert any(one.startswith("numpy==") for one in content["platform"]["software"]["libraries"]["python"])


@pytest.mark.parametrize("tag", ["a: b", "- x", "#", "@10", 'it\'s "so"', "\u202e", "null", "1.0", "\x07"])
def test_any_text_is_read_back(tag):
    content = yaml.safe_load(Metadata(tag, [Stage(tag, tag)], tag).to_yaml())
    assert content["tag"] == tag == content["data"]["test collection"]["name"]
    assert content["method"]["retrieval"] == [{"name": tag, "method": tag}]


def test_runs_of_the_command_have_a_sidecar(tmp_path):
    (tmp_path / "docs.tsv").write_text("d1\ta cat\nd2\ta dog\n")
    (tmp_path / "topics.tsv").write_text("1\tmy secret cat\n")
    (tmp_path / "qrels.txt").write_text("1 0 d1 1\n")
    row = {"qid": "1", "variant": 0, "query": "cat", "mechanism": "CMP", "parameter": "epsilon", "value": 12.5}
    (tmp_path / "sent.jsonl").write_text(json.dumps(row) + "\n")
    done = run(
        "retrieve",
        str(tmp_path / "sent.jsonl"),
        "--collection",
        str(tmp_path),
        "--reranker",
        "bm25",
        "-o",
        str(tmp_path / "runs"),
    )
    assert done.returncode == 0, done.stderr
    sidecar = sidecar_of(tmp_path / "runs" / "CMP@12.5.trec")
    content = yaml.safe_load(sidecar.read_text())
    assert [stage["name"] for stage in content["method"]["retrieval"]] == ["obfuscation", "bm25", "pool", "bm25"]
    assert content["method"]["retrieval"][0] == {"name": "obfuscation", "method": "CMP@12.5", "variants": 1}
    assert content["tag"] == (tmp_path / "runs" / "CMP@12.5.trec").read_text().split()[5]
    assert "secret" not in sidecar.read_text()
    done = run("utility", str(tmp_path / "runs"), "--collection", str(tmp_path))
    assert done.returncode == 0, "the sidecar is no run"
