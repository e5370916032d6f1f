"""Text files, line by line: strict about bytes and line ends, and silent about what the lines hold."""

import gzip

import pytest

from quipukit.errors import FileError
from quipukit.io.reading import numbered_lines, parse_object, read_bytes, read_rows, with_width
from tests.io.samples import SECRET, written


@pytest.mark.parametrize("content", ["a\nb\n", "a\r\nb", "a\rb\r", "\ufeffa\nb\n"])
def test_any_one_line_end_will_do(tmp_path, content):
    assert list(numbered_lines(written(tmp_path, "f.txt", content))) == [(1, "a"), (2, "b")]


def test_other_line_ends_of_unicode_end_no_line(tmp_path):
    lines = ["a\x0bb\x0cc\x85d\u2028e"]
    assert [line for _, line in numbered_lines(written(tmp_path, "f.txt", lines[0] + "\n"))] == lines


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (f"{SECRET}\rb\nc\n", "line 1: a carriage return inside"),
        (f"a\n{SECRET}\0\n", "line 2: a NUL byte"),
        (f"a\nb\n{SECRET}".encode() + b"\xff", "line 3: not UTF-8"),
    ],
)
def test_what_may_mean_two_things_is_refused_by_its_line(tmp_path, content, words):
    with pytest.raises(FileError, match=words) as fault:
        list(numbered_lines(written(tmp_path, "f.txt", content)))
    assert "secret" not in str(fault.value)


def test_mixed_line_ends_far_into_a_file_are_noticed(tmp_path):
    content = "a\r" * 600_000 + "b\nc\r"  # the first megabyte knows one kind alone
    with pytest.raises(FileError, match="line ends are mixed"):
        list(numbered_lines(written(tmp_path, "f.txt", content)))


def test_rows_of_nothing_are_left_out_and_a_file_of_nothing_is_refused(tmp_path):
    assert list(read_rows(written(tmp_path, "f.tsv", "\na\tb\n \n\nc\t\n"))) == [(2, ["a", "b"]), (5, ["c", ""])]
    with pytest.raises(FileError, match="is empty"):
        list(read_rows(written(tmp_path, "f.tsv", "\n \n")))


def test_a_line_of_csv_keeps_the_number_where_it_begins_after_a_quoted_line_end(tmp_path):
    rows = list(read_rows(written(tmp_path, "f.csv", 'a,"b\nc"\nd,e\n')))
    assert [fields for _, fields in rows] == [["a", "b\nc"], ["d", "e"]]
    with pytest.raises(FileError, match=r"line 3: a column is missing \(found 1, expected 2\).*quote a field"):
        list(with_width(tmp_path / "f.csv", [(3, ["x"])], 2, "two"))


@pytest.mark.parametrize("cut", [5, 20])
def test_a_compressed_file_that_ends_early_is_refused(tmp_path, cut):
    whole = gzip.compress(b"a\tb\n" * 1000)
    with pytest.raises(FileError, match=r"f\.tsv\.gz cannot be read"):
        read_bytes(written(tmp_path, "f.tsv.gz", whole[:-cut]))


def test_a_folder_and_a_missing_file_say_so(tmp_path):
    with pytest.raises(FileError, match="is a folder; name a file in it"):
        read_bytes(tmp_path)
    with pytest.raises(FileError, match="there is no such file"):
        read_bytes(tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"a": 1, "a": 2}', "a key stands twice"),
        ('{"a": {"b": 1, "b": 2}}', "a key stands twice"),
        ('["a"]', "not a JSON object"),
        ('{"a": "secret}', "not JSON .* at character"),
        ('{"a": "\\ud800"}', "half of a surrogate pair"),
        ("[" * 100_000, "nested too deep"),
        (f'{{"a": {"9" * 5000}}}', "a number too long"),
    ],
)
def test_json_that_readers_would_guess_about_is_refused(line, words):
    with pytest.raises(ValueError, match=words) as fault:
        parse_object(line)
    assert "secret" not in str(fault.value)


def test_a_whole_surrogate_pair_is_a_character():
    assert parse_object('{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}
