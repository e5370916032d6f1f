"""Every exception that quipukit raises deliberately.

    QuipukitError
    ├── InputError            something the user gave is wrong; the message ends with the fix
    │   ├── SpecError         a mechanism's name, option or parameter
    │   ├── FrameError        a table lacks a column or holds a bad value
    │   ├── FileError         a file cannot be read as what it should be
    │   └── LimitError        a search would cross a limit that the user has set
    ├── EngineError           a search engine over the network did not answer, or not as it should
    ├── SearchError           a private search ended with a fault whose own words may quote the query
    ├── NoClosedForm          a probability was asked of a mechanism that has no formula for it
    └── ResourceError         something that should be installed is missing or damaged
        └── VectorsError      word vectors that cannot be used

Messages name the fault and the fix. No message on the search path ever quotes the text of a query.
"""


class QuipukitError(Exception):
    """Root of the tree: catch this to catch everything that quipukit raises deliberately."""


class InputError(QuipukitError):
    """Something that the user gave is wrong.

    ``argument`` names the arguments that the message speaks of. In the message they are written as in Python
    (``log=FILE``, ``skip_invalid=True``); the command line shows its own flags in their place.
    """

    def __init__(self, message: str = "", *, argument: str | tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.arguments = (argument,) if isinstance(argument, str) else argument


class SpecError(InputError):
    """A mechanism's name, option or parameter is wrong."""


class FrameError(InputError):
    """A table lacks a column or holds a value that cannot be."""


class FileError(InputError):
    """A file cannot be read as what it should be."""


class LimitError(InputError):
    """A search would cross a limit that the user has set; nothing was sent."""


class EngineError(QuipukitError):
    """A search engine over the network did not answer, or not as it should.

    ``engine`` is its kind and host; ``failed`` are the positions, from 0, of the queries in the batch that it failed
    at; ``done`` of ``total`` queries have their answer. Queries appear by number alone, counted from 1.
    """

    def __init__(self, engine: str, reason: str, failed: tuple[int, ...], done: int, total: int) -> None:
        super().__init__(engine, reason, failed, done, total)
        self.engine, self.reason, self.failed, self.done, self.total = engine, reason, failed, done, total

    def __str__(self) -> str:
        others = f" ({len(self.failed) - 1} more failed)" if len(self.failed) > 1 else ""
        return (
            f"{self.engine}, query {min(self.failed) + 1} of {self.total}{others}: {self.reason}. "
            f"Answered: {self.done} of {self.total}."
        )


class SearchError(QuipukitError):
    """A private search ended with a fault whose own words may quote the query, so that they are not shown."""


class NoClosedForm(QuipukitError):
    """A probability was asked of a mechanism that has no formula for it."""


class ResourceError(QuipukitError):
    """Something that should be installed or on disk is missing or damaged."""


class VectorsError(ResourceError):
    """Word vectors that cannot be used."""


class QrelsWarning(UserWarning):
    """Judgments that do not quite fit: they name what is not there, or judge a document more than once."""
