"""What a subclass changes: a promise, or a law, speaks for the class that states it, and for none that differs."""

import functools
from typing import Any

# What a subclass may change without touching what is sent: names for things, keys of shared work, what is said of it.
_BESIDE = {
    "name", "summary", "strategy", "reference", "parameter", "grid", "default", "shares_work", "hides_more",
    "sends_original", "surveyed", "value", "spec", "spent_on", "noise_family", "batch_key", "shared_key", "words_key",
    "neighborhood_key", "log_prob", "word_law", "query_law", "prepare_query_laws", "guarantee", "promise",
}  # fmt: skip


@functools.cache
def change_since(cls: type[Any], statement: str) -> str:
    """Return what a class has that the author of a statement does not know of, as "method of Base"; "" for nothing.

    The author is the class that defines the attribute ``statement``: it knows its own methods, and those of the classes
    that it derives from.
    """
    author = next(one for one in cls.__mro__ if statement in vars(one))
    for place, one in enumerate(cls.__mro__):
        if one in author.__mro__:
            continue
        for attribute, value in vars(one).items():
            # The default of an option is no change: a statement reads the option. A property in its place is one.
            is_option = attribute in getattr(cls, "__dataclass_fields__", ()) and not hasattr(value, "__get__")
            is_internal = attribute.startswith(("__", "_abc_"))
            if hasattr(author, attribute) and not (is_option or is_internal or attribute in _BESIDE):
                base = next(b for b in cls.__mro__[place + 1 :] if hasattr(b, attribute))
                return f"{attribute} of {getattr(base, 'name', base.__name__)}"
    return ""
