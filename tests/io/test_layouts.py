"""Files of other projects: read in any order of columns, with a BOM or Windows line ends, and written."""

import csv

import pytest
from pandas.testing import assert_frame_equal

from quipukit.errors import FileError, InputError
from quipukit.io.layouts import LAYOUTS, is_foreign, one_spelling
from quipukit.io.obfuscated import read_obfuscated, write_obfuscated
from quipukit.io.tables import read_table
from quipukit.obfuscation import obfuscate
from quipukit.vectors.store import Vectors
from tests.cli.test_cli import assert_refused, run
from tests.io.samples import SECRET, written

PETS = Vectors(["cat", "dog", "cow"], [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
QUERIES = {"q1": "Cat", "q2": "cow dog"}

# The header lines of files that the projects published.
PYPANTERA = "id,text,obfuscatedText,mechanism,epsilon\n1,cat dog,cow dog,CMP,12.5\n1,cat dog,dog dog,CMP,12.5\n"
TWEETS = "id,text,obfuscatedText,mechanism,epsilon,sentiment\n1,cat dog,cow dog,CMP,12.5,Neutral\n"
DP_COMET = "id,text,obfuscatedText,epsilon,mechanism\n1,cat dog,cow dog,12.5,ContextualCMP\n"
GECO = (
    "query_id,text,obfuscatedText,mechanism,epsilon,top_percentile,pivot_query,pool,corrector_model\n"
    '1,cat dog,"cow, dog",CosineGECO,12.5,0.001,which cow,msmarco-passage/train,ielabgroup/vec2text\n'
)


@pytest.mark.parametrize("content", [PYPANTERA, TWEETS, DP_COMET, GECO])
@pytest.mark.parametrize("change", ["", "bom", "crlf", "both", "index", "order"])
def test_files_of_others_are_read_whatever_wrote_them(tmp_path, content, change):
    rows = list(csv.reader(content.splitlines()))
    if change == "index":  # pandas' own numbers of the rows, under no name
        rows = [["" if not number else str(number - 1), *row] for number, row in enumerate(rows)]
    if change == "order":
        rows = [row[::-1] for row in rows]
    end = "\r\n" if change in ("crlf", "both") else "\n"
    text = "".join(",".join(f'"{cell}"' for cell in row) + end for row in rows)
    path = written(tmp_path, "sent.csv", text.encode("utf-8-sig" if change in ("bom", "both") else "utf-8"))
    obfuscated, originals = read_obfuscated(path)
    assert originals.values.tolist() == [["1", "cat dog"]]
    assert obfuscated["variant"].tolist() == list(range(len(rows) - 1))
    assert set(obfuscated["value"]) == {12.5} and set(obfuscated["parameter"]) == {"epsilon"}
    assert obfuscated["query"].iloc[0] == ("cow, dog" if content == GECO else "cow dog")


@pytest.mark.parametrize("missing", ["id", "text", "mechanism", "epsilon"])
def test_a_column_that_is_missing_is_named(tmp_path, missing):
    content = PYPANTERA.replace(missing, "other", 1).replace("cat dog", SECRET)
    with pytest.raises(FileError, match=f"column '{missing}.* is missing") as fault:
        read_obfuscated(written(tmp_path, "sent.csv", content))
    assert "secret" not in str(fault.value)


@pytest.mark.parametrize("value", ["ten", "inf", "-inf", "nan", "", "1e999"])
@pytest.mark.parametrize("layout", ["pypantera", "quipukit"])
def test_a_parameter_that_is_no_number_is_named_by_its_own_column_and_line(tmp_path, value, layout):
    content = PYPANTERA.replace("dog dog,CMP,12.5", f"dog dog,CMP,{value}")
    if layout == "quipukit":
        content = f"qid,variant,query,mechanism,parameter,value\n1,0,cow,CMP,epsilon,1\n1,1,dog,CMP,epsilon,{value}\n"
    with pytest.raises(FileError, match=f"line 3: column '{'epsilon' if layout == 'pypantera' else 'value'}' is no"):
        read_obfuscated(written(tmp_path, "sent.csv", content))


def test_two_columns_of_ids_are_refused(tmp_path):
    content = "id,query_id,text,obfuscatedText,mechanism,epsilon\n1,2,cat,cow,CMP,1\n"
    with pytest.raises(FileError, match="'id' and 'query_id' both name an id; keep one"):
        read_obfuscated(written(tmp_path, "sent.csv", content))


def test_originals_that_differ_in_case_alone_are_one_query(tmp_path):
    # DP-COMET's files for MEDLINE: "Ferroportin-1 in humans" beside "ferroportin-1 in humans".
    written(tmp_path, "a.csv", PYPANTERA.replace("cat dog", "Cat  dog"))
    written(tmp_path, "b.csv", DP_COMET)
    obfuscated, originals = read_obfuscated(tmp_path)
    assert originals.values.tolist() == [["1", "Cat  dog"]]
    assert set(obfuscated["mechanism"]) == {"CMP", "ContextualCMP"}
    written(tmp_path, "c.csv", GECO.replace("cat dog", SECRET))
    with pytest.raises(FileError, match="two originals have the same id") as fault:
        read_obfuscated(tmp_path)
    assert "secret" not in str(fault.value)
    assert len(one_spelling(originals)) == 1


@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("name", ["sent.csv", "sent.tsv", "sent.parquet", "folder"])
def test_what_is_written_in_a_layout_reads_back(tmp_path, layout, name):
    table = obfuscate(QUERIES, ["CMP@1", "CMP@12.5"], 3, vectors=PETS, seed=1)
    write_obfuscated(table, tmp_path / name, layout, QUERIES)
    back, originals = read_obfuscated(tmp_path / name)
    order = ["value", "qid", "variant"]
    same = [frame.sort_values(order, ignore_index=True)[[*order, "query", "mechanism"]] for frame in (back, table)]
    assert_frame_equal(*same)
    assert dict(originals.itertuples(index=False, name=None)) == QUERIES
    if name == "folder":
        files = sorted(str(file.relative_to(tmp_path / name)) for file in (tmp_path / name).rglob("*.csv"))
        assert files == ["CMP/obfuscatedText_CMP_1.csv", "CMP/obfuscatedText_CMP_12.5.csv"]
        header = (tmp_path / name / files[0]).read_text().splitlines()[0].split(",")
        assert header == [column or "epsilon" for column in LAYOUTS[layout]]
        assert is_foreign(read_table(tmp_path / name / files[0]))


def test_what_a_layout_cannot_hold_is_said(tmp_path):
    table = obfuscate(QUERIES, ["CMP@1", "Identity"], 1, vectors=PETS, seed=1)
    with pytest.raises(InputError, match="the layout 'geco' cannot hold Identity: it has no parameter"):
        write_obfuscated(table, tmp_path / "a.csv", "geco", QUERIES)
    with pytest.raises(InputError, match="holds the originals; give them as queries=TABLE"):
        write_obfuscated(table, tmp_path / "a.csv", "geco")
    with pytest.raises(InputError, match=r"1 obfuscated queries have no original \(first: q2\)"):
        write_obfuscated(table, tmp_path / "a.csv", "geco", {"q1": SECRET})
    with pytest.raises(InputError, match="layout must be one of quipukit, pypantera, dp-comet, geco"):
        write_obfuscated(table, tmp_path / "a.csv", "gecko", QUERIES)
    assert not list(tmp_path.iterdir())


@pytest.mark.heavy
def test_the_command_writes_a_layout_and_warns_of_the_originals(tmp_path):
    queries = written(tmp_path, "topics.tsv", "7\thow tumor grows\n")
    common = ["obfuscate", "--queries", str(queries), "-m", "CMP@10", "-n", "2", "--layout", "dp-comet"]
    done = run(*common, "-o", str(tmp_path / "out"))
    assert "holds the original queries in the column 'text'; keep it on your side" in done.stderr
    file = tmp_path / "out/CMP/obfuscatedText_CMP_10.csv"
    assert file.read_text().startswith("id,text,obfuscatedText,epsilon,mechanism\n7,how tumor grows,")
    assert_refused(run(*common), "--layout dp-comet is the layout of a file; name it with -o")
    assert_refused(run(*common[:-1], "mine", "-o", "x.csv"), "layout must be one of quipukit, pypantera", "(--layout)")
