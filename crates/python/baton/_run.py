"""From the arguments of a function to those of the command."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Union

from . import _baton
from ._chip import Chip, setting
from ._result import F

PathLike = Union[str, "os.PathLike[str]"]
ChipLike = Union[Chip, PathLike]
KeyValue = Union[bool, int, float, str]


def _text(value: object) -> str:
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def words(name: str, value: object, repeated: bool) -> list[str]:
    """An option with its value as the command takes them."""
    option = "--" + name.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [option]
    if isinstance(value, Chip):
        return list(value.arguments)
    if isinstance(value, Mapping):
        return [f"{option}={setting(key, one)}" for key, one in value.items()]
    if isinstance(value, Sequence) and not isinstance(value, str):
        texts = [_text(one) for one in value]
        return [f"{option}={text}" for text in texts] if repeated else [f"{option}={','.join(texts)}"]
    return [f"{option}={_text(value)}"]


def run(command: str, options: Mapping[str, object], repeated: tuple[str, ...], place: str | None = None) -> str:
    """Runs a command. `place` is the name of what stands without an option. Returns the JSON that the command prints."""
    # The keys of `set` come behind those of a `Chip`, and win.
    ordered = sorted(options.items(), key=lambda option: option[0] == "set")
    arguments = [text for name, value in ordered if name != place for text in words(name, value, name in repeated)]
    if place is not None:
        named = options[place]
        places = named if isinstance(named, tuple) else (named,)
        arguments += ["--", *map(_text, places)]
    return _baton.run(command, arguments)


def listed(of: type[F], text: str) -> list[F]:
    """A list of figures from the JSON that a command prints."""
    return [of(data) for data in json.loads(text)]
