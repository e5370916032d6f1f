"""Options that take several values after one name: ``-e 1 5 10``, ``-m CMP TEM``, ``--measure AP RR``."""

from collections.abc import Callable, Sequence
from pathlib import Path

from quipukit.errors import InputError, SpecError


def expand_multi_values(arguments: Sequence[str]) -> list[str]:
    """Let ``-e 1 5 10`` mean ``-e 1 -e 5 -e 10``, and likewise for mechanisms, measures and attackers.

    >>> expand_multi_values(["-e", "1", "5", "-n", "3"])
    ['-e', '1', '-e', '5', '-n', '3']
    >>> expand_multi_values(["-m", "CMP", "TEM@5", "wordnet"])
    ['-m', 'CMP', '-m', 'TEM@5', 'wordnet']

    What could as well be a folder to work on is refused, not guessed.
    """
    several = _named_resume(list(arguments))
    # Only an experiment takes several numbers of variants.
    sweep = [(("-n", "--variants"), _is_count)] if several[:1] == ["evaluate"] else []
    for names, belongs in (*_SEVERAL, *sweep):
        if several[:1] == ["utility"] and "-m" in names:  # there it is the old name of --measure, one each
            continue
        several = _expand(several, names, belongs)
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


def _expand(arguments: Sequence[str], names: tuple[str, ...], belongs: Callable[[str], bool]) -> list[str]:
    expanded: list[str] = []
    option = ""
    fresh = False
    for argument in arguments:
        if argument in names:
            option, fresh = argument, True
            continue
        if option and (fresh or belongs(argument)):
            if not fresh and Path(argument).is_dir():
                raise InputError(
                    f"{argument!r} is a folder, and could be one more value of {option}; write ./{argument} for the "
                    f"folder, or {option} {argument} for the value."
                )
            expanded += [option, argument]
            fresh = False
            continue
        option = ""
        expanded.append(argument)
    return [*expanded, option] if fresh else expanded


def _is_number(argument: str) -> bool:
    try:
        float(argument)
    except ValueError:
        return False
    return True


def _is_mechanism(argument: str) -> bool:
    from quipukit.specs import spec

    if argument.startswith("-"):
        return False
    try:
        spec(argument)
    except SpecError:
        return False
    return True


def _is_measure(argument: str) -> bool:
    if argument.startswith("-") or Path(argument).is_file():
        return False
    from quipukit.measures.utility import parse_measures

    try:
        parse_measures([argument])
    except InputError:
        return False
    return True


def _is_attacker(argument: str) -> bool:
    from quipukit.attackers.registry import attacker_spec

    if argument.startswith("-"):
        return False
    try:
        attacker_spec(argument)
    except SpecError:
        return False
    return True


def _is_count(argument: str) -> bool:
    return argument.isascii() and argument.isdigit()


_SEVERAL = (
    (("-e", "--epsilon", "--epsilons"), _is_number),
    (("-m", "--mechanism", "--mechanisms"), _is_mechanism),
    (("--measure",), _is_measure),
    (("--attackers",), _is_attacker),
)
