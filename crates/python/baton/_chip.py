"""Chips."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Union, cast, overload

from . import _baton

Value = Union[bool, int, float, str]


def setting(key: str, value: object) -> str:
    """A key and its value as `--set` takes them."""
    if isinstance(value, bool):
        return f"{key}={'true' if value else 'false'}"
    return f"{key}={value}"


class Chip:
    """A chip file with keys that were changed. A `Chip` never changes: `set` returns another one.

    >>> import baton
    >>> chip = baton.Chip.load("ocor64").set("wait.pause", 50)
    >>> chip["wait.pause"], chip["core.count"]
    (50, 64)
    """

    def __init__(self, arguments: tuple[str, ...]) -> None:
        self.arguments = arguments
        """The options of the command that stand for this chip."""
        self._keys = cast("dict[str, Value]", json.loads(_baton.chip(list(arguments))))

    @classmethod
    def load(cls, name: str | os.PathLike[str]) -> Chip:
        """Reads a chip file: a path, or one of the names that `baton.chips()` lists."""
        return cls((f"--chip={os.fspath(name)}",))

    @overload
    def set(self, key: str, value: Value) -> Chip: ...
    @overload
    def set(self, key: Mapping[str, Value]) -> Chip: ...
    def set(self, key: str | Mapping[str, Value], value: Value | None = None) -> Chip:
        """The chip with another value of a key, or with other values of several keys at once.

        Keys that must fit each other are set together:

        >>> import baton
        >>> chip = baton.Chip.load("sample-host").set({"core.count": 8, "core.per_cluster": 8})
        >>> chip["core.count"]
        8
        """
        keys = key if isinstance(key, Mapping) else {key: value}
        return Chip(self.arguments + tuple(f"--set={setting(key, one)}" for key, one in keys.items()))

    def resized(self, cores: int) -> Chip:
        """The chip with another number of cores, as `--cores` has it."""
        others = tuple(argument for argument in self.arguments if not argument.startswith("--cores="))
        return Chip((*others, f"--cores={cores}"))

    def __getitem__(self, key: str) -> Value:
        return self._keys[key]

    def to_dict(self) -> dict[str, Value]:
        """Every key of the chip and its value."""
        return dict(self._keys)

    def __repr__(self) -> str:
        return f"<Chip {' '.join(self.arguments)}>"


def chips() -> list[str]:
    """The names of the chip files that are found.

    >>> import baton
    >>> "ocor64" in baton.chips()
    True
    """
    return _baton.chips()
