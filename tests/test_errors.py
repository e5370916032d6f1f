"""The tree of exceptions is the one that its docstring draws, and engines' errors speak of numbers alone."""

import inspect
import pickle
import re

from quipukit import errors
from quipukit.errors import EngineError, QuipukitError


def test_the_docstring_draws_the_tree():
    drawn: dict[str, str] = {}
    above: dict[int, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        if name := re.match(r"([ │├└─]*)([A-Z]\w+)(?:  |$)", line):
            depth = len(name[1])
            parents = [above[at] for at in sorted(above) if at < depth]
            drawn[name[2]] = parents[-1] if parents else "Exception"
            above = {at: one for at, one in above.items() if at < depth} | {depth: name[2]}
    classes = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, QuipukitError)]
    assert drawn == {one.__name__: one.__base__.__name__ for one in classes}


def test_an_engines_error_counts_queries_from_one_and_travels():
    error = EngineError("solr at host", "no answer", failed=(4, 2), done=3, total=9)
    assert str(error) == "solr at host, query 3 of 9 (1 more failed): no answer. Answered: 3 of 9."
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.failed == (4, 2)


def test_one_failure_has_no_others():
    assert "more failed" not in str(EngineError("solr", "no answer", (0,), 0, 1))
