"""From the arguments that a library error speaks of to the flags of the command that runs."""

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

# What the library calls otherwise than the command line.
_OTHER_NAMES = {
    "epsilons": ("epsilon",),
    "measures": ("measure",),
    "out": ("output",),
    "scorer": ("reranker",),
    "specs": ("mechanisms", "mechanism"),
    "systems": ("retriever",),
    "u0": ("original",),
}
_VALUE = r"(?:'(?P<quoted>[^']*)'|(?P<plain>(?:[\w:/@-]|\.(?=\w))*))"


class Option(Protocol):
    """What is used of an option of a command, whichever copy of click it comes from."""

    opts: list[str]
    secondary_opts: list[str]


def with_flags(message: str, arguments: Iterable[str], options: Mapping[str, Option]) -> str:
    """Return a message of the library with flags in the place of arguments.

    ``log=FILE`` becomes ``--log FILE``, ``skip_invalid=True`` becomes ``--skip-invalid``, and ``log_sample: 9`` becomes
    ``--log-sample: 9``. An argument that the message writes in no such way is named at its end; one that the command
    does not have is left as it is.

    >>> from types import SimpleNamespace as Option
    >>> options = {"log": Option(opts=["--log"], secondary_opts=[])}
    >>> with_flags("there is no log; pass log=FILE, or log='wordnet'.", ["log"], options)
    'there is no log; pass --log FILE, or --log wordnet.'
    """
    unwritten = []
    for argument in arguments:
        option = next((options[name] for name in (argument, *_OTHER_NAMES.get(argument, ())) if name in options), None)
        if option is None:
            continue
        message, count = re.subn(rf"\b{argument}={_VALUE}", functools.partial(_flag, option), message)
        message, listed = re.subn(rf"\b{argument}(?=: )", option.opts[-1], message)
        if not count + listed:
            unwritten.append(option.opts[-1])
    return f"{message} ({', '.join(unwritten)})" if unwritten else message


def options_of(command: Any, arguments: Sequence[str]) -> dict[str, Option]:
    """Return the options of the command that a command line names, by the name of their parameter."""
    for argument in arguments:
        below = getattr(command, "commands", {}).get(argument)
        if below is None:
            break
        command = below
    return {str(option.name): option for option in command.params if option.param_type_name == "option"}


def _flag(option: Option, match: "re.Match[str]") -> str:
    value = match["plain"] if match["quoted"] is None else match["quoted"]
    if value == "True":
        return option.opts[-1]
    if value == "False" and option.secondary_opts:
        return option.secondary_opts[-1]
    return f"{option.opts[-1]} {value}".rstrip()
