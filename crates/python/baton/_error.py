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
        self._given = (message, hint, file, line, key)
        super().__init__(message if hint is None else f"{message}\nhint: {hint}")
        self.hint = hint
        self.file = file
        self.line = line
        self.key = key

    def __reduce__(self) -> tuple[object, ...]:
        return _again, self._given


def _again(message: str, hint: str | None, file: str | None, line: int | None, key: str | None) -> Error:
    """An error that comes from another process."""
    return Error(message, hint=hint, file=file, line=line, key=key)
