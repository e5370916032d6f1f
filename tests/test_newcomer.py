"""The blocks of the README and the quickstart run in an empty home, and a wrong one would be noticed."""

import time

import pytest

from tests.newcomer import PAGES, blocks, main, run


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


@pytest.mark.heavy
def test_a_block_of_python_has_the_imports_of_those_before_it(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("```python\nimport math\n\nx = 1\n```\n\n```python\nprint(math.pi)\n```\n")
    assert main([page]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(("command", "faults"), [("sh -c 'exit 3'", 0), ("true", 1), ("sh -c 'exit 2'", 1)])
def test_a_command_has_to_end_with_the_code_that_the_page_states(tmp_path, command, faults):
    assert len(run("sh", f"{command}  # exit code 3: nothing found\ntrue\n", tmp_path)) == faults


def test_a_block_that_hangs_is_ended_and_named(tmp_path):
    begin = time.monotonic()
    [fault] = run("sh", "sleep 60\ntrue\n", tmp_path, seconds=0.2)
    assert "ended after 0.2 seconds" in fault
    assert time.monotonic() - begin < 30


@pytest.mark.slow
@pytest.mark.serial
def test_every_block_runs_in_an_empty_home(capsys):
    assert main(list(PAGES)) == 0, capsys.readouterr().out
