"""What all results have in common."""

from __future__ import annotations

import json
from typing import Any, TypeVar

F = TypeVar("F", bound="Figures")


class Figures:
    """Figures as attributes; `to_dict` has them as they stand in the JSON."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    def to_dict(self) -> dict[str, Any]:
        """All figures as a dictionary, the figures of parts inside."""
        return self._data

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in self._data.items() if not isinstance(value, (dict, list))]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _get(self, name: str) -> Any:
        return self._data.get(name)

    def _whole(self, name: str, of: type[F]) -> F:
        return of(self._data[name])

    def _part(self, name: str, of: type[F]) -> F | None:
        data = self._data.get(name)
        return None if data is None else of(data)

    def _list(self, name: str, of: type[F]) -> list[F]:
        return [of(data) for data in self._data.get(name) or []]


class Result(Figures):
    """The figures of a run. `json` has the bytes that the command prints with `--json`."""

    def __init__(self, text: str) -> None:
        super().__init__(json.loads(text))
        self.json: str = text
        """What the command prints with `--json`, without the end of the line."""
