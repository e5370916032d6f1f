"""Results: everything an experiment found, as tables and a manifest, in one folder."""

from quipukit.results.files import FORM, MANIFEST
from quipukit.results.result import NO_ORIGINALS, Result
from quipukit.results.tables import SETTINGS, TABLES, tables_of

__all__ = ["FORM", "MANIFEST", "NO_ORIGINALS", "SETTINGS", "TABLES", "Result", "tables_of"]
