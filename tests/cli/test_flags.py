"""Errors of the library, in the words of the command line."""

import pytest
import typer

from quipukit.cli.flags import options_of, with_flags
from quipukit.cli.main import app
from quipukit.cli.main import main as quipukit

COMMAND = typer.main.get_command(app)


@pytest.mark.parametrize(
    ("command", "message", "arguments", "shown"),
    [
        ("evaluate", "pass log=FILE.", ["log"], "pass --log FILE."),
        ("evaluate", "pass queries=topics.tsv.", ["queries"], "pass --queries topics.tsv."),
        ("evaluate", "pass queries=, or not.", ["queries"], "pass --queries, or not."),
        ("evaluate", "with skip_invalid=True.", ["skip_invalid"], "with --skip-invalid."),
        ("evaluate", "leave out inject=False.", ["inject"], "leave out --no-inject."),
        ("evaluate", "use noise='independent'.", ["noise"], "use --noise independent."),
        ("evaluate", "a bad spec.", ["specs"], "a bad spec. (--mechanisms)"),
        ("obfuscate", "a bad spec.", ["specs"], "a bad spec. (--mechanism)"),
        ("retrieve", "name out= a folder", ["out"], "name --output a folder"),
        ("retrieve", "pass specs=CMP.", ["specs"], "pass specs=CMP."),
        ("evaluate", "CusText(k=20) has log=3 and catalog=4", ["log"], "CusText(k=20) has --log 3 and catalog=4"),
        ("evaluate", "n=3 stays", [], "n=3 stays"),
        ("evaluate", "(log_sample: none there, 9 here)", ["log_sample"], "(--log-sample: none there, 9 here)"),
        ("evaluate", "(collection: a there, b here)", ["collection"], "(collection: a there, b here)"),
    ],
)
def test_arguments_become_flags(command, message, arguments, shown):
    assert with_flags(message, arguments, options_of(COMMAND, [command, "--json"])) == shown


def test_the_options_are_those_of_the_command_that_runs():
    assert "query_log" not in options_of(COMMAND, ["list"])
    assert options_of(COMMAND, ["evaluate", "wordnet"])["log"].opts == ["--log"]
    assert options_of(COMMAND, ["no-such-command"]).keys() == {"version"}


def test_an_error_is_shown_with_flags(capsys):
    with pytest.raises(SystemExit) as ended:
        quipukit(["obfuscate", "my query", "-m", "CMP@1", "-e", "5"])
    told = capsys.readouterr().err
    assert ended.value.code == 2 and "--epsilon is given" in told and "epsilons=" not in told
