"""Old names that still work: a warning that points at the caller's own line."""

import sys
import warnings

_PACKAGE = __name__.partition(".")[0]


class OldNameWarning(DeprecationWarning):
    """An old name was used; a class of its own, so that the command line can show it and no other library's."""


def warn_deprecated(message: str) -> None:
    """Warn of an old name where code outside of this package used it."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, OldNameWarning, stacklevel=level)
