"""Plugins of a test that go when its MonkeyPatch is undone."""

from typing import Any

import pytest

from quipukit.plugins import temporarily_installed


class PluginSlot:
    """Holds what is installed in one group: ``slot.install(patch, name=object)`` lasts as long as the patch."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._objects: dict[str, Any] = {}
        self._context: Any = None

    def install(self, patch: pytest.MonkeyPatch, **objects: Any) -> None:
        """Install plugins in place of those that the slot held."""
        patch.setattr(self, "objects", objects)

    @property
    def objects(self) -> dict[str, Any]:
        return self._objects

    @objects.setter
    def objects(self, objects: dict[str, Any]) -> None:
        if self._context is not None:
            self._context.__exit__(None, None, None)
        self._objects = objects
        self._context = temporarily_installed(self._group, **objects)
        self._context.__enter__()


ENCODERS = PluginSlot("quipukit.encoders")
