from collections.abc import Callable
from os import PathLike
from typing import Any

def run(command: str, arguments: list[str]) -> str: ...
def chip(arguments: list[str]) -> str: ...
def chips() -> list[str]: ...
def set_shipped(folder: str | PathLike[str]) -> None: ...
def table(folder: str, condition: str | None, columns: list[str]) -> Rows: ...

class Rows:
    columns: list[str]
    units: dict[str, str]
    def column(self, name: str) -> list[Any]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

class Space:
    points: int
    rows: int
    store: PathLike[str]
    text: tuple[str, str]
    combinations: int
    axes: str
    names: list[str]
    metrics: list[str]
    goal: tuple[str, bool] | None
    seeds: list[int]
    has_budget: bool
    def __init__(self, file: str, text: str | None = None, seeds: list[int] | None = None) -> None: ...
    def point(self, number: int) -> str | None: ...
    def keys(self, number: int, seeds: list[int]) -> list[str]: ...
    def run(
        self,
        folder: str,
        jobs: int | None,
        retry: bool,
        only: list[int] | None,
        watch: Callable[[int, int, int, int, float, tuple[float, str] | None], None] | None,
    ) -> tuple[str, int, int, int]: ...
