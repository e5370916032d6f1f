"""The command ``quipukit``: its subcommands, and how it exits when something goes wrong."""

import errno
import os
import re
import select
import sys
import warnings
from typing import NoReturn

import typer

from quipukit import __version__
from quipukit.cli import (
    attack,
    audit,
    card,
    compare,
    cover,
    demo,
    evaluate,
    identify,
    ledger,
    listing,
    obfuscate,
    recommend,
    report,
    retrieve,
    score,
    search,
    serve,
    similarity,
    utility,
    vectors,
    vocabulary,
)
from quipukit.cli.flags import options_of, with_flags
from quipukit.cli.multi_values import expand_multi_values
from quipukit.deprecation import OldNameWarning
from quipukit.errors import QuipukitError
from quipukit.terminal import say

app = typer.Typer(
    name="quipukit",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    help="Hide search queries, and measure what is still found and who can still guess what was asked.",
)
app.command("evaluate")(evaluate.evaluate)
app.command("report")(report.report)
app.command("recommend")(recommend.recommend)
app.command("compare")(compare.compare)
app.command("obfuscate")(obfuscate.obfuscate)
app.command("cover")(cover.cover)
app.command("retrieve")(retrieve.retrieve)
app.command("utility")(utility.utility)
app.command("attack")(attack.attack)
app.command("identify")(identify.identify)
app.command("audit")(audit.audit)
app.command("card")(card.card)
app.command("similarity")(similarity.similarity)
app.command("score")(score.score)
app.command("search")(search.search)
app.add_typer(ledger.app, name="ledger")
app.command("mcp")(search.mcp)
app.command("list")(listing.list_all)
app.add_typer(vectors.app, name="vectors")
app.command("vocabulary")(vocabulary.vocabulary)
app.command("serve")(serve.serve)
app.command("demo")(demo.demo)


_ADDRESS = re.compile(r"[a-z]+\+https?:[^?\s]*@[^\s]*")

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_INTERRUPTED = 130  # how typer ends on Ctrl-C
_PIPE_CLOSED = 141  # how a shell reports a program that SIGPIPE ended


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"quipukit {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    pass


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a wrong input ends in one line that says the fix, and exit code 2."""
    given = sys.argv[1:] if arguments is None else arguments
    _need_outputs()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            warnings.simplefilter("default", OldNameWarning)
            try:
                _refuse_logins(given)
                app(expand_multi_values(given), prog_name="quipukit")
            finally:
                _flush()  # here, where a reader that is gone can be dealt with
    except QuipukitError as fault:
        # The library speaks of its arguments; here they are flags.
        options = options_of(typer.main.get_command(app), given)
        say(f"quipukit: {with_flags(str(fault), getattr(fault, 'arguments', ()), options)}")
        raise SystemExit(2) from None
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # which typer takes for a fault
            _end_with_the_reader()
        if end.code == _INTERRUPTED:
            say("quipukit: interrupted; nothing half-written was left behind.")
        raise
    except BrokenPipeError:
        _end_with_the_reader()
        raise
    except OSError as fault:
        # A write to a file that was already open; an error at opening names the file itself.
        if fault.filename is not None or fault.errno not in _NO_ROOM:
            raise
        _end_without_room(fault)


def _need_outputs() -> None:
    """End where standard output was closed (>&-): the next file to be opened would take its place."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as the process
    if sys.stdout is None:
        say("quipukit: standard output is closed; leave it open, or send it to /dev/null.")
        raise SystemExit(1)


def _flush() -> None:
    """Write what is left of the output; where it cannot be written (a full disk), end in one line."""
    try:
        print(end="", flush=True)
    except BrokenPipeError:
        raise
    except OSError as fault:
        _end_without_room(fault)


def _end_without_room(fault: OSError) -> NoReturn:
    _send_nowhere(1)
    say(f"quipukit: the output cannot be written ({fault.strerror}); send it elsewhere.")
    raise SystemExit(1) from None


def _send_nowhere(number: int) -> None:
    """Let what is written from now on go nowhere: Python flushes once more at the end, and would complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def _end_with_the_reader() -> None:
    """End quietly if a reader of what we print (head, less) has left: with 0, because it has seen what it wanted.

    Where it also read progress and warnings the work may be unfinished, and the end is that of any other program: 141.
    Not every broken pipe is one of ours; it may as well be a worker or an engine that is gone.
    """
    gone = []
    for number in (1, 2):
        state = select.poll()
        state.register(number, 0)
        if any(events & select.POLLERR for _, events in state.poll(0)):
            _send_nowhere(number)
            gone.append(number)
    if gone:
        raise SystemExit(0 if gone == [1] else _PIPE_CLOSED)


def _refuse_logins(arguments: list[str]) -> None:
    """Refuse an address with a login wherever it stands, before any message can quote the argument."""
    for argument in arguments:
        address = _ADDRESS.search(argument)
        if address is not None:
            from quipukit.retrieval.engines import read_spec

            read_spec(address.group())


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    say(f"warning: {message}")
