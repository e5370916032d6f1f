"""PrivateRetriever: the stage inside sees variants alone, and what comes out is ranked with the original."""

import socket
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

pt = pytest.importorskip("pyterrier", reason='needs PyTerrier: pip install "quipukit[pyterrier]"')

from quipukit.collections.files import Folder  # noqa: E402
from quipukit.errors import FrameError, InputError  # noqa: E402
from quipukit.io.ir_metadata import Metadata  # noqa: E402
from quipukit.memo import Memo  # noqa: E402
from quipukit.obfuscation import mechanism  # noqa: E402
from quipukit.pyterrier import PrivateRetriever  # noqa: E402
from quipukit.pyterrier.drawing import drawn  # noqa: E402
from quipukit.retrieval.base import Scorer  # noqa: E402
from quipukit.retrieval.bm25 import BM25  # noqa: E402
from quipukit.vectors.store import Vectors  # noqa: E402

DOCUMENTS = {
    "d1": "tumor growth in bone",
    "d2": "a cat and a dog",
    "d3": "the dog of the neighbor",
    "d4": "tumor cells, and how they grow",
    "d5": "house prices after a divorce",
}
SECRETS = ["how tumor grows", "dog or cat"]
TOPICS = pd.DataFrame({"qid": ["t-17", "t-4"], "query": SECRETS, "description": ["my own illness", "my own pets"]})
WORDS = sorted({word for text in [*DOCUMENTS.values(), *SECRETS] for word in text.split()})
VECTORS = Vectors(WORDS, np.random.default_rng(4).normal(size=(len(WORDS), 8)))
NOISY = mechanism("CMP@0.3", VECTORS)


class Capturing(pt.Transformer):
    """Looks documents up by their words, and keeps every frame that it was asked with."""

    def schematic(self, *, input_columns=None):
        return {"label": "Engine", "help_url": "", "settings": {}}

    def __init__(self, **others):
        self.seen, self._others = [], others

    def transform(self, inp):
        pt.validate.query_frame(inp, ["query"])
        self.seen.append(inp.copy())
        rows = []
        for qid, query in zip(inp["qid"], inp["query"], strict=True):
            found = {d: len(set(query.split()) & set(t.split())) for d, t in DOCUMENTS.items()}
            best = [docno for docno, count in sorted(found.items(), key=lambda one: -one[1]) if count]
            for rank, docno in enumerate(best):
                rows.append([qid, query, docno, float(found[docno]), rank, DOCUMENTS[docno], query])
        table = pd.DataFrame(rows, columns=["qid", "query", "docno", "score", "rank", "text", "query_0"])
        return table.drop(columns=[] if "query_0" in self._others else "query_0")


class Overlap(Scorer):
    name = "overlap"

    def __init__(self):
        self.asked = []

    def score_many(self, batches, progress=None):
        self.asked += [query for query, _ in batches]
        return [
            np.array([float(len(set(query.split()) & set(DOCUMENTS[d].split()))) for d in docnos])
            for query, docnos in batches
        ]


def everything_in(frames) -> str:
    return "\n".join(frame.to_csv() + str(frame.attrs) for frame in frames)


@pytest.mark.parametrize("reranker", [None, "transformer", "scorer"])
def test_the_original_never_reaches_the_inner_stage(reranker):
    inner, scorer, reranked = Capturing(query_0=True), Overlap(), []

    def score(frame):
        reranked.append(frame)
        return frame.assign(score=range(len(frame)))

    chosen = {"scorer": scorer, "transformer": pt.apply.generic(score)}.get(reranker)
    private = PrivateRetriever(inner, NOISY, n=4, reranker=chosen, seed=3)
    results = private(TOPICS)
    assert len(results) and len(inner.seen) == 1
    asked = inner.seen[0]
    assert list(asked.columns) == ["qid", "query"]
    assert set(asked["qid"]) == {str(n) for n in range(len(asked))}, "no id of the user's"
    assert asked["query"].is_unique and asked["query"].is_monotonic_increasing, "the order tells nothing"
    seen = everything_in(inner.seen)
    for secret in [*SECRETS, "my own", "t-17", "t-4"]:
        assert secret not in seen
    # On the user's side the original is what ranks.
    if reranker == "scorer":
        assert scorer.asked == SECRETS
    if reranker == "transformer":
        assert set(reranked[0]["query"]) == set(SECRETS) and "text" in reranked[0].columns
    assert set(results["query"]) <= set(SECRETS)
    assert not [name for name in results.columns if name.startswith("query_")]


def test_results_are_those_of_the_pool_ranked_with_the_original():
    inner = Capturing()
    private = PrivateRetriever(inner, NOISY, n=6, reranker=Overlap(), seed=1)
    results = private(TOPICS)
    assert list(results.columns) == private.transform_outputs(list(TOPICS.columns))
    assert results["qid"].drop_duplicates().tolist() == ["t-17", "t-4"], "in the order of the queries"
    for qid, own in results.groupby("qid"):
        query = dict(zip(TOPICS["qid"], TOPICS["query"], strict=True))[qid]
        expected = [float(len(set(query.split()) & set(DOCUMENTS[d].split()))) for d in own["docno"]]
        assert own["score"].tolist() == expected == sorted(expected, reverse=True)
        assert own["rank"].tolist() == list(range(len(own))) and own["docno"].is_unique
        assert own["text"].tolist() == [DOCUMENTS[d] for d in own["docno"]]
    again = PrivateRetriever(Capturing(), NOISY, n=6, reranker=Overlap(), seed=1)
    pd.testing.assert_frame_equal(again(TOPICS), results)
    # Query by query as PyTerrier's batches come, the same.
    parts = pd.concat([again(TOPICS.iloc[[place]]) for place in range(2)], ignore_index=True)
    pd.testing.assert_frame_equal(parts, results)


def test_columns_that_queries_and_documents_both_have_are_those_of_the_queries():
    private = PrivateRetriever(Capturing(), NOISY, n=6, reranker=Overlap(), seed=1)
    topics = TOPICS.assign(text="mine", score=0.5, rank=3)
    results = private(topics)
    assert set(results["text"]) == {"mine"} and results["rank"].min() == 0
    assert list(results.columns) == private.transform_outputs(list(topics.columns))


def test_an_empty_frame_and_a_search_that_finds_nothing_have_all_columns():
    private = PrivateRetriever(Capturing(), NOISY, n=2, seed=1)
    outputs = private.transform_outputs(["qid", "query"])
    assert list(private(TOPICS.iloc[:0][["qid", "query"]]).columns) == outputs
    nothing = PrivateRetriever(Capturing(), "Random", n=2, seed=1)(TOPICS[["qid", "query"]])
    assert list(nothing.columns) == outputs and nothing.empty


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (TOPICS.drop(columns="query"), "needs column 'query' .found qid, description."),
        (TOPICS.drop(columns="qid"), "needs column 'qid'"),
        (TOPICS.assign(query_0="x"), "has column 'query_0', so a rewriter ran before"),
        (TOPICS.assign(qid=[1, 2]), "'qid' holds numbers.*astype.str."),
        (TOPICS.assign(qid=[1.5, None]), "'qid' holds numbers or missing values"),
        (TOPICS.assign(docno="d1"), "takes queries, not results"),
        (TOPICS.assign(qid="same"), "qid"),
        (TOPICS.assign(query=[None, "cat"]), "query"),
    ],
)
def test_frames_that_do_not_fit_are_refused_in_words(frame, words):
    inner = Capturing()
    with pytest.raises(FrameError, match=words) as fault:
        PrivateRetriever(inner, NOISY, n=2)(frame)
    assert not inner.seen
    assert not [secret for secret in SECRETS if secret in str(fault.value)]


def test_a_rewriter_in_front_is_refused_and_one_inside_works():
    rewriter = pt.apply.query(lambda row: row["query"] + " bone")
    with pytest.raises(FrameError, match="put the rewriter inside"):
        (rewriter >> PrivateRetriever(Capturing(), NOISY, n=2))(TOPICS)
    inner = Capturing()
    PrivateRetriever(rewriter >> inner, NOISY, n=2, seed=1)(TOPICS)
    assert inner.seen[0]["query"].str.endswith(" bone").all()


def test_mechanisms_that_send_the_original_need_consent():
    with pytest.raises(InputError, match=r"Identity sends the original .* pass send_originals=True"):
        PrivateRetriever(Capturing(), "Identity", n=1)
    with pytest.raises(InputError, match="send_originals must be True or False"):
        PrivateRetriever(Capturing(), "Identity", n=1, send_originals="no")
    inner = Capturing()
    loud = mechanism("CMP@500", VECTORS)  # so little noise that it draws the words it was given
    with pytest.raises(InputError, match=r"4 of 4 variants of CMP@500 are original queries, so nothing") as fault:
        PrivateRetriever(inner, loud, n=2)(TOPICS)
    assert not inner.seen and SECRETS[0] not in str(fault.value)
    PrivateRetriever(inner, loud, n=2, send_originals=True)(TOPICS)
    assert inner.seen


def test_a_memo_sends_the_same_variants_again():
    inner = Capturing()
    private = PrivateRetriever(inner, Memo(NOISY, n=3), send_originals=True)
    private(TOPICS), private(TOPICS)
    pd.testing.assert_frame_equal(*inner.seen)
    with pytest.raises(InputError, match="the memo holds 3 variants"):
        PrivateRetriever(inner, Memo(NOISY, n=3), n=5)
    with pytest.raises(InputError, match="leave the seed out"):
        PrivateRetriever(inner, Memo(NOISY, n=3), seed=5)


def test_without_a_seed_the_noise_is_new_every_time():
    inner = Capturing()
    private = PrivateRetriever(inner, mechanism("CMP@0.01", VECTORS), n=20, send_originals=True)
    private(TOPICS), private(TOPICS)
    # Two sets of 40 nearly uniform draws out of 1,000 texts: equal with a probability far below 1e-12.
    assert set(inner.seen[0]["query"]) != set(inner.seen[1]["query"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"inner": "bm25"}, "inner must be a PyTerrier transformer .found str."),
        ({"reranker": 3}, "reranker must be a transformer, a Scorer or a name"),
        ({"reranker": "bm25"}, "reads documents: name where"),
        ({"mechanism": "CMP"}, "CMP needs its epsilon"),
        ({"n": 0}, "n"),
    ],
)
def test_wrong_arguments_are_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        PrivateRetriever(**{"inner": Capturing(), "mechanism": "CMP@0.3", **arguments})


def test_inner_stages_that_break_the_rules_are_named():
    silent = pt.apply.generic(lambda frame: frame)
    with pytest.raises(FrameError, match="what inner returned needs results with column 'docno'"):
        PrivateRetriever(silent, NOISY, n=2, seed=1)(TOPICS)
    renames = Capturing() >> pt.apply.generic(lambda frame: frame.assign(qid="other"))
    with pytest.raises(FrameError, match="for ids that it was not asked for"):
        PrivateRetriever(renames, NOISY, n=2, seed=1)(TOPICS)
    unranked = pt.apply.generic(lambda frame: frame.drop(columns="score"))
    with pytest.raises(FrameError, match="the re-ranker returned no column 'score'"):
        PrivateRetriever(Capturing(), NOISY, n=2, seed=1, reranker=unranked)(TOPICS)


def test_pyterrier_can_inspect_and_draw_it():
    inner, reranker = Capturing(), pt.apply.doc_score(lambda row: 1.0)
    private = PrivateRetriever(inner, NOISY, n=2, reranker=reranker)
    assert pt.inspect.transformer_inputs(private) == [["qid", "query"]]
    assert pt.inspect.transformer_outputs(private, ["qid", "query"])[:3] == ["qid", "query", "docno"]
    assert pt.inspect.subtransformers(private) == {"inner": inner, "reranker": reranker}
    for columns in (["qid"], ["qid", "query", "query_0"], ["qid", "query", "query_1"], ["qid", "query", "docno"]):
        with pytest.raises(pt.validate.InputValidationError):
            pt.inspect.transformer_outputs(private, columns)
    assert repr(private) == "PrivateRetriever(CMP@0.3, n=2, reranker=ApplyDocumentScoringTransformer)"


def test_the_schematic_is_drawn_without_a_network(monkeypatch):
    def unreachable(*_):
        raise OSError("no network")

    monkeypatch.setattr(socket, "create_connection", unreachable)
    monkeypatch.setattr(pt.documentation, "url_for_class", unreachable)
    private = PrivateRetriever(Capturing(), NOISY, n=2, reranker=pt.apply.doc_score(lambda row: 1.0))
    page = private._repr_html_()
    assert "PrivateRetriever CMP@0.3" in page and "Engine" in page and "never" in page
    assert "ApplyDocumentScoring" in page, "a plain box where PyTerrier needs the network"
    assert drawn(Capturing())["label"] == "Engine"


def test_it_works_in_experiments():
    qrels = pd.DataFrame({"qid": ["t-17", "t-17", "t-4"], "docno": ["d1", "d4", "d2"], "label": [1, 1, 1]})
    inner = Capturing()
    systems = [inner, PrivateRetriever(inner, NOISY, n=8, reranker=Overlap(), seed=1)]
    measures = [pt.measures.nDCG @ 10, pt.measures.RR]
    table = pt.Experiment(systems, TOPICS, qrels, measures, names=["plain", "private"], validate="error")
    assert table["name"].tolist() == ["plain", "private"]
    assert table.loc[1, "RR"] > 0


def test_metadata_show_no_address_and_no_path_of_this_machine():
    stages = PrivateRetriever(Capturing() >> Capturing(), NOISY, n=2).ir_metadata("mine").stages
    assert {stage.name: stage.method for stage in stages}["inner"] == "Capturing >> Capturing"


def test_metadata_of_a_run_name_the_stages(tmp_path):
    yaml = pytest.importorskip("yaml", reason="needs PyYAML, of the extra test")
    metadata = PrivateRetriever(Capturing(), NOISY, n=2, reranker=Overlap()).ir_metadata("mine", dataset="irds:vaswani")
    assert isinstance(metadata, Metadata)
    metadata.write(tmp_path / "mine.ir-metadata.yml")
    content = yaml.safe_load((tmp_path / "mine.ir-metadata.yml").read_text())
    assert [stage["name"] for stage in content["method"]["retrieval"]] == ["obfuscation", "inner", "pool", "reranker"]
    assert content["method"]["retrieval"][0]["method"] == "CMP@0.3"
    assert content["data"]["test collection"]["ir_datasets"] == "https://ir-datasets.com/vaswani"
    assert any(name.startswith("pyterrier==") for name in content["platform"]["software"]["retrieval toolkit"])


def test_a_missing_or_old_pyterrier_is_said_in_words():
    program = (
        "import sys, types\n{}\ntry:\n    import quipukit.pyterrier\nexcept ImportError as fault:\n    print(fault)\n"
    )
    old = "sys.modules['pyterrier'] = types.SimpleNamespace(__version__='0.10.1')"
    for start, words in (("sys.modules['pyterrier'] = None", "needs the package pyterrier"), (old, "found 0.10.1")):
        done = subprocess.run([sys.executable, "-c", program.format(start)], capture_output=True, text=True, check=True)
        assert words in done.stdout and 'pip install "quipukit[pyterrier]"' in done.stdout


@pytest.fixture
def collection(tmp_path):
    folder = tmp_path / "collection"
    folder.mkdir()
    (folder / "docs.tsv").write_text("".join(f"{docno}\t{text}\n" for docno, text in DOCUMENTS.items()))
    (folder / "topics.tsv").write_text("t-17\thow tumor grows\n")
    (folder / "qrels.txt").write_text("t-17 0 d4 1\n")
    return Folder(folder)


def test_end_to_end_on_pisa(tmp_path, collection):
    pisa = pytest.importorskip("pyterrier_pisa", reason="needs pyterrier-pisa, which has wheels for Linux on x86_64")
    index = pisa.PisaIndex(str(tmp_path / "index"), text_field="text", stemmer="none", stops="none")
    index.index([{"docno": docno, "text": text} for docno, text in collection.documents()])
    retriever = index.bm25(num_results=3)
    private = PrivateRetriever(retriever, NOISY, n=12, reranker="bm25", collection=collection, seed=1)
    results = private(TOPICS)
    own = BM25.of(collection)
    for qid, rows in results.groupby("qid"):
        query = dict(zip(TOPICS["qid"], TOPICS["query"], strict=True))[qid]
        np.testing.assert_allclose(rows["score"], own.score(query, rows["docno"].tolist()))
    qrels = pd.DataFrame({"qid": ["t-17", "t-17", "t-4"], "docno": ["d1", "d4", "d2"], "label": [1, 1, 1]})
    table = pt.Experiment([retriever, private], TOPICS, qrels, [pt.measures.nDCG @ 10], names=["plain", "private"])
    assert 0 < table.loc[1, "nDCG@10"] <= 1
