"""Errors."""

from __future__ import annotations


class Error(Exception):
    """Something that the caller gave is wrong, or a run failed. The message says what, where and what was expected.

    >>> import baton
    >>> try:
    ...     baton.Chip.load("ocor64").set("core.cout", 8)
    ... except baton.Error as error:
    ...     print(error.file, error.key)
    --set core.cout
    """

    hint: str | None
    """How to correct it."""
    file: str | None
    """The file, or the command's option that takes its place."""
    line: int | None
    """The line of the file, from 1."""
    key: str | None
    """The key of the file, or the option of the command."""

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        file: str | None = None,
        line: int | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(message if hint is None else f"{message}\nhint: {hint}")
        self.hint = hint
        self.file = file
        self.line = line
        self.key = key
