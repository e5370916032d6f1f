"""Every exception that quipukit raises on purpose.

    QuipukitError
    ├── InputError            something the user gave is wrong; the message ends with the fix
    │   ├── SpecError         a mechanism's name, option or parameter
    │   ├── FrameError        a table lacks a column or holds a bad value
    │   └── FileError         a file cannot be read as what it should be
    ├── NoClosedForm          a probability was asked of a mechanism that has no formula for it
    └── ResourceError         something that should be installed is missing or damaged
        └── VectorsError      word vectors that cannot be used

Messages name the fault and the fix. No message on the search path ever quotes the text of a query.
"""


class QuipukitError(Exception):
    """Root of the tree: catch this to catch everything that quipukit raises on purpose."""


class InputError(QuipukitError):
    """Something that the user gave is wrong."""


class SpecError(InputError):
    """A mechanism's name, option or parameter is wrong."""


class FrameError(InputError):
    """A table lacks a column or holds a value that cannot be."""


class FileError(InputError):
    """A file cannot be read as what it should be."""


class NoClosedForm(QuipukitError):
    """A probability was asked of a mechanism that has no formula for it."""


class ResourceError(QuipukitError):
    """Something that should be installed or on disk is missing or damaged."""


class VectorsError(ResourceError):
    """Word vectors that cannot be used."""
