"""The blocks of the README and the quickstart run in an empty home, and a wrong one would be noticed."""

import pytest

from tests.newcomer import PAGES, blocks, main


def test_the_pages_have_blocks_of_every_kind():
    assert {kind for page in PAGES for kind, _ in blocks(page)} == {"python", "sh", "console"}


@pytest.mark.heavy
def test_a_block_that_fails_or_prints_something_else_is_noticed(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ echo right\nright\n$ echo right\nwrong\n```\n\n    $ echo also\n    also\n\n```sh\nfalse\n```\n"
    )
    assert main([page]) == 1
    printed = capsys.readouterr().out
    assert "1 of 3 blocks are as they say" in printed and "--- the page says\nwrong" in printed


@pytest.mark.slow
@pytest.mark.serial
def test_every_block_runs_in_an_empty_home(capsys):
    assert main(list(PAGES)) == 0, capsys.readouterr().out
