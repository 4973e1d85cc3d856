"""Object storage as the way of rows from machines that share no file system with this one."""

from __future__ import annotations

import os
import posixpath
from typing import Any

from ._error import Error


class Objects:
    """A folder of object storage. Tasks put files of rows there; the machine that began the sweep takes them into its store."""

    def __init__(self, url: str) -> None:
        try:
            from pyarrow import fs
        except ImportError as error:
            raise Error("object storage needs pyarrow", key="objects", hint="pip install pyarrow") from error
        self.url = url
        try:
            self.files, self.folder = fs.FileSystem.from_uri(url)
            self.files.create_dir(self.folder, recursive=True)
        # pyarrow has a ValueError for a URL that it does not know.
        except (OSError, ValueError) as error:
            raise Error(f"no object storage at {url}: {error}", key="objects") from error

    @classmethod
    def of(cls, files: Any, folder: str) -> Objects:
        """A folder of a file system of pyarrow."""
        objects = cls.__new__(cls)
        objects.url, objects.files, objects.folder = folder, files, folder
        files.create_dir(folder, recursive=True)
        return objects

    def put(self, path: str, name: str) -> None:
        """Uploads a file. The object is there whole or not at all."""
        target = posixpath.join(self.folder, name)
        # An object appears when its stream is closed; a file appears at once, and so has another name first.
        is_file = self.files.type_name != "s3"
        stream = f"{target}.part" if is_file else target
        with open(path, "rb") as source, self.files.open_output_stream(stream) as out:
            while piece := source.read(1 << 20):
                out.write(piece)
        if is_file:
            self.files.move(stream, target)

    def names(self) -> list[str]:
        """The files of rows that nobody has taken yet."""
        from pyarrow import fs

        found = self.files.get_file_info(fs.FileSelector(self.folder))
        return sorted(info.base_name for info in found if info.base_name.startswith("rows-") and info.base_name.endswith(".parquet"))

    def take(self, name: str, folder: str) -> None:
        """Moves a file of rows into the store `folder`. Ended in between, it comes again: readers of a store see each key once."""
        source, part = posixpath.join(self.folder, name), os.path.join(folder, f".{name}.part")
        with self.files.open_input_stream(source) as stream, open(part, "wb") as out:
            while piece := stream.read(1 << 20):
                out.write(piece)
            out.flush()
            os.fsync(out.fileno())
        os.rename(part, os.path.join(folder, name))
        self.files.delete_file(source)
