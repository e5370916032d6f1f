"""Text files of vectors: every dialect that is about, and every kind of damage, with the number of the line."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.errors import FileError
from quipukit.vectors import textfile
from quipukit.vectors.textfile import read_text_vectors
from tests.examples import examples


def read(tmp_path, content: str | bytes, name: str = "vectors.txt"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_text_vectors(path)


def refused(tmp_path, content: str | bytes, fault: str, name: str = "vectors.txt") -> None:
    with pytest.raises(FileError, match=fault) as caught:
        read(tmp_path, content, name)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_glove(tmp_path):
    found = read(tmp_path, "the 0.1 -0.2 3e-1\n, 1 2 3\nof 4.5 5 6\n")
    assert found.words == ["the", ",", "of"]
    np.testing.assert_array_equal(found.matrix, np.array([[0.1, -0.2, 0.3], [1, 2, 3], [4.5, 5, 6]], np.float32))
    assert found.name == "vectors"


@pytest.mark.parametrize("header", ["2 3\n", "2 3 \n", "2 3\r\n"])
def test_word2vec_and_fasttext_have_a_header(tmp_path, header):
    # fastText ends its lines with a blank.
    found = read(tmp_path, f"{header}the 1 2 3 \nof 4 5 6 \n")
    assert found.words == ["the", "of"]
    assert found.matrix.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_a_number_can_be_a_word(tmp_path):
    found = read(tmp_path, "1999 1 2 3\n7 4 5 6\n-3.5 7 8 9\nnan 1 1 1\ninf 2 2 2\n")
    assert found.words == ["1999", "7", "-3.5", "nan", "inf"]
    assert found.dimension == 3


def test_words_with_blanks(tmp_path):
    found = read(tmp_path, "the 1 2\n. . . 3 4\nat name@domain.com 5 6\n\u00a0x 7 8\n")
    assert found.words == ["the", ". . .", "at name@domain.com", "\u00a0x"]
    assert found.matrix.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]


def test_the_first_of_words_that_differ_in_case_stays(tmp_path):
    # "Cat" sent for "cat" would hide nothing, and no query could ever reach the second of the two.
    found = read(tmp_path, "The 1 1\ncat 2 2\nthe 3 3\nCAT 4 4\nUS 5 5\n")
    assert found.words == ["The", "cat", "US"]
    assert found.matrix.tolist() == [[1, 1], [2, 2], [5, 5]]
    assert [found.row(word) for word in ("the", "cat", "us")] == [0, 1, 2]


def test_the_first_of_two_equal_words_stays(tmp_path):
    found = read(tmp_path, "a 1 1\nb 2 2\na 3 3\nb 4 4\nc 5 5\n")
    assert found.words == ["a", "b", "c"]
    assert found.matrix.tolist() == [[1, 1], [2, 2], [5, 5]]


def test_a_damaged_repetition_is_still_damaged(tmp_path):
    refused(tmp_path, "a 1 1\nb 2 2\na 3\n", "line 3: expected a word and 2 numbers")


@pytest.mark.parametrize("ending", ["\n", "\r\n", " \n", " \r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(tmp_path, ending, last):
    content = ending.join(["a 1 2", "", "b 3 4"]) + (ending if last else "")
    found = read(tmp_path, content)
    assert found.words == ["a", "b"]
    assert found.matrix.tolist() == [[1, 2], [3, 4]]


def test_one_dimension(tmp_path):
    found = read(tmp_path, "a 0.5\nb 1.5\nc -2\n")
    assert found.words == ["a", "b", "c"]
    assert found.matrix.tolist() == [[0.5], [1.5], [-2]]
    assert read(tmp_path, "3 1\na 1\nb 2\nc 3\n").words == ["a", "b", "c"]


def test_a_first_line_that_only_looks_like_a_header(tmp_path):
    # One dimension and a number for a word: the file itself says that there are no 5 numbers a line.
    found = read(tmp_path, "1999 5\n2000 7\n2001 9\n")
    assert found.words == ["1999", "2000", "2001"]


def test_unicode_words_are_never_cut(tmp_path):
    # Line separators of Unicode are no ends of lines in these files.
    words = ["na\u00efve", "\u4e2d\u6587", "\U0001f600", "x\u2028y", "x\u0085y", "e\u0301"]
    found = read(tmp_path, "".join(f"{word} 1 2\n" for word in words))
    assert found.words == words


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path):
    assert read(tmp_path, "\ufeffthe 1 2\nof 3 4\n").words == ["the", "of"]
    found = read(tmp_path, "\ufeff2 3\nthe 1 2 3\nof 4 5 6\n")
    assert found.words == ["the", "of"]
    assert found.dimension == 3


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("a 1 2\nb 3\n", "line 2: expected a word and 2 numbers"),
        ("a 1 2\nb 3 x\n", "line 2: 'x' is not a number"),
        ("a 1 2\nb  3\n", "line 2: '' is not a number"),
        ("a 1 2\n 3 4\n", "line 2: expected a word and 2 numbers"),
        ("a 1 2\n3 4\n", "line 2: expected a word and 2 numbers"),
        ("a 1 2\nb nan 1\n", "line 2: holds NaN"),
        ("a 1 2\nb 1 inf\n", "line 2: holds NaN, infinity"),
        ("a 1 2\nb 1 -Infinity\n", "line 2: holds NaN, infinity"),
        ("a 1 2\nb 1 1e39\n", "line 2: holds NaN, infinity or a number too large"),
        ("a 1 2\n\n\nb 3\n", "line 4: expected"),
        ("3 2\na 1 2\nb 3\n", "line 3: expected"),
        ("a 1 2\nb 0x10 3\n", "line 2: '0x10' is not a number"),
        ("a\n", "line 1: found no numbers"),
        ("<html>\n", "line 1: found no numbers"),
        ("a\t1\t2\n", "line 1: found no numbers"),
        ('{"a": [1, 2]}\n', "line 1: found no numbers"),
        ("", "no vector in the file"),
        ("\n\n \n", "no vector in the file"),
        ("400000 300\n", "no vector in the file"),
        (b"a 1 2\n\xff\xfe 3 4\n", "line 2: byte 0 is not UTF-8"),
        (b"a 1 2\nna\xefve 3 4\n", "line 2: byte 2 is not UTF-8"),
        (b"\x80\x04\x95 1 2\n", "line 1: byte 0 is not UTF-8"),
    ],
)
def test_damage_is_named_with_its_line(tmp_path, content, fault):
    refused(tmp_path, content, fault)


def test_a_first_line_that_is_too_short_does_not_make_numbers_into_words(tmp_path):
    # Cut off after two numbers: taken at its word, "b 0.4" would become a word of two dimensions.
    with pytest.raises(FileError, match=r"line [12]"):
        read(tmp_path, "a 0.1 0.2\nb 0.4 0.5 0.6\nc 0.7 0.8 0.9\n")


def test_a_header_that_disagrees_is_refused(tmp_path):
    with pytest.raises(FileError):
        read(tmp_path, "2 4\na 1 2 3\nb 4 5 6\n")


def test_gzip(tmp_path):
    found = read(tmp_path, gzip.compress(b"a 1 2\nb 3 4\n"), "vectors.txt.gz")
    assert found.words == ["a", "b"]


@pytest.mark.parametrize("keep", [5, 20, -9, -4])
def test_a_truncated_gzip_file_is_refused(tmp_path, keep):
    lines = "".join(f"w{i} {i} {i * i % 97}\n" for i in range(3000)).encode()
    refused(tmp_path, gzip.compress(lines)[:keep], "damaged", "vectors.txt.gz")


@pytest.mark.parametrize("position", [30, 2000, -10, -6, -2])
def test_a_flipped_bit_in_a_gzip_file_is_refused(tmp_path, position):
    lines = "".join(f"w{i} {i} {i * i % 97}\n" for i in range(3000)).encode()
    content = bytearray(gzip.compress(lines))
    content[position] ^= 16
    with pytest.raises(FileError):
        read(tmp_path, bytes(content), "vectors.txt.gz")


def test_a_plain_file_that_is_called_gzip_is_refused(tmp_path):
    refused(tmp_path, b"a 1 2\n", "damaged", "vectors.txt.gz")


def test_more_words_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr(textfile, "_BLOCK", 3)
    for count in (2, 3, 4, 6, 7):
        found = read(tmp_path, "".join(f"w{i} {i} {-i}\n" for i in range(count)))
        assert found.words == [f"w{i}" for i in range(count)]
        assert found.matrix.tolist() == [[i, -i] for i in range(count)]


# Words as they stand in such files: no blanks or line ends, and no byte order mark.
words = st.text(
    st.characters(exclude_categories=["Cs", "Zs", "Cc"], exclude_characters="\ufeff"), min_size=1, max_size=6
)
numbers = st.floats(-1e6, 1e6, width=32).filter(lambda x: x == 0 or abs(x) > 1e-6)


@given(
    rows=st.lists(st.tuples(words, st.lists(numbers, min_size=3, max_size=3)), min_size=1, max_size=10),
    header=st.booleans(),
    ending=st.sampled_from(["\n", "\r\n", " \n"]),
)
@examples(80)
def test_what_is_written_is_read(tmp_path_factory, rows, header, ending):
    content = f"{len(rows)} 3{ending}" if header else ""
    content += "".join(f"{word} {' '.join(map(repr, vector))}{ending}" for word, vector in rows)
    found = read(tmp_path_factory.mktemp("text"), content)
    expected: dict[str, list[float]] = {}
    for word, vector in rows:
        if word.lower() not in map(str.lower, expected):  # of words that differ in case alone, the first stays
            expected[word] = vector
    assert found.words == list(expected)
    np.testing.assert_array_equal(found.matrix, np.array(list(expected.values()), np.float32))


@given(st.binary(max_size=200))
@examples(100)
def test_anything_else_is_read_or_refused(tmp_path_factory, content):
    try:
        found = read(tmp_path_factory.mktemp("noise"), content)
    except FileError:
        return
    assert len(found) >= 1
    assert np.isfinite(found.matrix).all()


def test_a_file_that_was_cut_at_a_line_is_noticed_by_its_header(tmp_path):
    path = tmp_path / "cut.vec"
    path.write_text("3 2\ncat 1 2\ndog 3 4\n")
    with pytest.raises(FileError, match="says 3 words, but it holds 2"):
        read_text_vectors(path)
    path.write_text("3 2\ncat 1 2\ndog 3 4\ncat 5 6\n")
    assert list(read_text_vectors(path).words) == ["cat", "dog"]
