"""Options that take several values after one name: ``-e 1 5 10``, ``-m CMP TEM``, ``--measure AP RR``."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from quipukit.errors import InputError, SpecError


def expand_multi_values(arguments: Sequence[str]) -> list[str]:
    """Let ``-e 1 5 10`` mean ``-e 1 -e 5 -e 10``, and likewise for mechanisms, measures and attackers.

    >>> expand_multi_values(["-e", "1", "5", "-n", "3"])
    ['-e', '1', '-e', '5', '-n', '3']
    >>> expand_multi_values(["-m", "CMP", "TEM@5", "wordnet"])
    ['-m', 'CMP', '-m', 'TEM@5', 'wordnet']

    What could as well be a folder to work on is refused, not guessed, and so is what is neither a value nor anything
    that the command works on.
    """
    if arguments[:1] in (["search"], ["mcp"]):  # one value each; and a fault must not quote what may be a query
        return list(arguments)
    several = _named_resume(list(arguments))
    # Only an experiment takes several numbers of variants.
    sweep = [(("-n", "--variants"), _count_fault)] if several[:1] == ["evaluate"] else []
    for names, fault_of in (*_SEVERAL, *sweep):
        if several[:1] == ["utility"] and "-m" in names:  # there it is the old name of --measure, one each
            continue
        several = _expand(several, names, fault_of)
    return several


def _named_resume(arguments: list[str]) -> list[str]:
    """Let ``--resume`` stand alone beside ``-o FOLDER``: alone it resumes that folder, with more it changes nothing.

    >>> _named_resume(["evaluate", "-o", "runs/x", "--resume"])
    ['evaluate', '--resume', 'runs/x']
    >>> _named_resume(["evaluate", "-m", "CMP", "-o", "runs/x", "--resume"])
    ['evaluate', '-m', 'CMP', '-o', 'runs/x']
    """
    place = arguments.index("--resume") if "--resume" in arguments else -1
    if place < 0 or (place + 1 < len(arguments) and not arguments[place + 1].startswith("-")):
        return arguments
    rest = arguments[:place] + arguments[place + 1 :]
    output = next((number for number, argument in enumerate(rest[:-1]) if argument in ("-o", "--output")), -1)
    if output < 0:
        return arguments
    others = rest[:output] + rest[output + 2 :]
    return [*others, "--resume", rest[output + 1]] if others == ["evaluate"] else rest


def _expand(arguments: Sequence[str], names: tuple[str, ...], fault_of: Callable[[str], str]) -> list[str]:
    expanded: list[str] = []
    option = ""
    fresh = False
    for argument in arguments:
        if argument in names:
            option, fresh = argument, True
            continue
        fault = "" if fresh or not option else "an option" if argument.startswith("-") else fault_of(argument)
        if option and not fault:
            if not fresh and Path(argument).is_dir():
                raise InputError(
                    f"{argument!r} is a folder, and could be one more value of {option}; write ./{argument} for the "
                    f"folder, or {option} {argument} for the value."
                )
            expanded += [option, argument]
            fresh = False
            continue
        if option and not argument.startswith("-") and not _may_stand_alone(argument, arguments[0]):
            raise SpecError(f"{argument!r} is no value of {option}: {fault}")
        option = ""
        expanded.append(argument)
    return [*expanded, option] if fresh else expanded


def _may_stand_alone(argument: str, command: str) -> bool:
    """Return whether a command may be meant to work on an argument: a query, a collection, a file or a folder."""
    if command == "obfuscate":  # a query may be anything, but none looks like CMP@5
        return re.fullmatch(r"[\w+-]+(\(.*\))?@[\d.]+", argument) is None
    if command == "evaluate":
        from quipukit.collections.load import collection_names

        known = [name.casefold() for name in collection_names()]
        if argument.casefold() in known or argument.casefold().startswith("irds:"):
            return True
    # A path that does not exist is for the command to refuse, and a value has neither a slash nor the end of a file.
    return command not in _WORKS_ON_PATHS or Path(argument).exists() or bool(re.search(r"/|\.[A-Za-z]\w*$", argument))


_WORKS_ON_PATHS = ("evaluate", "attack", "retrieve", "utility", "similarity", "score", "recommend", "compare", "report")


# --- why an argument is no value; empty where it is one ---


def _number_fault(argument: str) -> str:
    try:
        float(argument)
    except ValueError:
        return "it is no number."
    return ""


def _mechanism_fault(argument: str) -> str:
    from quipukit.specs import spec

    try:
        spec(argument)
    except SpecError as fault:
        return str(fault)
    return ""


def _measure_fault(argument: str) -> str:
    if Path(argument).is_file():
        return "it is a file."
    from quipukit.measures.utility import parse_measures

    try:
        parse_measures([argument])
    except InputError as fault:
        return str(fault)
    return ""


def _attacker_fault(argument: str) -> str:
    from quipukit.attackers.registry import attacker_spec

    if argument.casefold() == "panel":  # a name for several
        return ""
    try:
        attacker_spec(argument)
    except SpecError as fault:
        return str(fault)
    return ""


def _count_fault(argument: str) -> str:
    return "" if argument.isascii() and argument.isdigit() else "it is no whole number."


_SEVERAL = (
    (("-e", "--epsilon", "--epsilons"), _number_fault),
    (("-m", "--mechanism", "--mechanisms"), _mechanism_fault),
    (("--measure",), _measure_fault),
    (("--attackers",), _attacker_fault),
)
