"""The sections of the report: every module of this package that defines a `Section`, and those of plugins.

Adding one takes a module here, a template ``templates/sections/<id>.html`` and a test; nothing lists them. Another
package adds one through the entry-point group ``quipukit.sections`` (a subclass of `Section`).
"""

import functools
import importlib
import pkgutil
import re

from quipukit.errors import InputError
from quipukit.plugins import fold, plugins
from quipukit.report.sections.base import Context, Drawing, ReportData, Section, SectionTables

__all__ = ["GROUP", "Context", "Drawing", "ReportData", "Section", "SectionTables", "sections"]

GROUP = "quipukit.sections"


def sections() -> list[Section]:
    """Return all sections in the order of the page."""
    built_in = _built_in()
    taken = tuple((fold(each.id), each.id) for each in built_in)
    added = [_checked(name, load()) for name, load in plugins(GROUP, taken).items()]
    chosen = sorted([*built_in, *added], key=lambda each: (each.order, each.id))
    ids = [each.id for each in chosen]
    for each in added:
        if ids.count(each.id) > 1:
            raise InputError(f"the report has two sections with the id {each.id!r}; give the plugin's another id.")
    return chosen


@functools.cache
def _built_in() -> tuple[Section, ...]:
    modules = [importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)]
    return tuple(
        cls()
        for module in modules
        for cls in vars(module).values()
        if isinstance(cls, type)
        and issubclass(cls, Section)
        and cls is not Section
        and cls.__module__ == module.__name__
    )


def _checked(name: str, plugin: object) -> Section:
    section = plugin() if isinstance(plugin, type) else plugin
    if not isinstance(section, Section):
        raise InputError(
            f"the plugin {name!r} of {GROUP} is no Section; derive it from quipukit.report.sections.Section."
        )
    for attribute in ("id", "title"):
        if not getattr(section, attribute, ""):
            raise InputError(f"the section {name!r} has no {attribute}; set it in the class.")
    if not re.fullmatch(r"[a-z][a-z0-9-]*", section.id):
        raise InputError(f"the id of a section is lower-case letters, digits and hyphens (found {section.id!r}).")
    return section
