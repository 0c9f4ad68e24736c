"""A git tree that is changed without reading all of it: only folders on the way to a change."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Union

from registry.storage.git import object_oid, tree_content, tree_entries

#: Reads the content of the tree object with an id.
LoadTree = Callable[[str], bytes]


@dataclass(slots=True)
class _Folder:
    """A folder that was read.

    Attributes:
        files: Name to blob id.
        folders: Name to a folder that was read, or to the tree id of another one.
        oid: Its tree id, "" after a change.
        spellings: Folded name (see :func:`folded`) to name, once they are needed.
    """

    files: dict[str, str]
    folders: dict[str, Union["_Folder", str]]
    oid: str = ""
    spellings: dict[str, str] | None = None

    def spelled(self, name: str) -> str | None:
        """The name of an entry that some file systems do not distinguish from ``name``."""
        if self.spellings is None:
            self.spellings = {folded(one): one for one in (*self.files, *self.folders)}
        return self.spellings.get(folded(name))

    def note(self, name: str) -> None:
        """Update what depends on the entries after the entry ``name`` was put."""
        self.oid = ""
        if self.spellings is not None:
            self.spellings[folded(name)] = name

    def drop(self, name: str) -> None:
        """Remove the entry ``name``, if there is one."""
        self.oid = ""
        self.files.pop(name, None)
        self.folders.pop(name, None)
        if self.spellings is not None:
            self.spellings.pop(folded(name), None)


class FolderTree:
    """Files and folders of a revision, changed for the next one.

    The number of tree objects that are read grows with the depth and number of the changed paths,
    not with the number of files.
    """

    def __init__(self, oid: str, load: LoadTree) -> None:
        """``oid`` is the id of the root's tree object, "" for a new tree."""
        self._load = load
        self._root = self._read(oid) if oid else _Folder({}, {})

    @property
    def root_files(self) -> dict[str, str]:
        """Name to blob id of the files that are in no folder."""
        return self._root.files

    def oid_at(self, path: str) -> str | None:
        """The id of the file at ``path``; ``None`` without one."""
        *above, name = path.split("/")
        line = self._line(above)
        return line[-1].files.get(name) if len(line) > len(above) else None

    def paths_at(self, path: str) -> list[str]:
        """``path`` if it is a file, else all files below it; empty if there is neither."""
        parts = path.split("/")
        if self.oid_at(path) is not None:
            return [path]
        line = self._line(parts)
        return list(self._below(line[-1], path)) if len(line) > len(parts) else []

    def put(self, path: str, oid: str) -> None:
        """Set the file at ``path``, whose folders are made as needed."""
        *above, name = path.split("/")
        folder = self._root
        for part in above:
            child = self._child(folder, part)
            if child is None:
                child = folder.folders[part] = _Folder({}, {})
            folder.note(part)
            folder = child
        folder.files[name] = oid
        folder.note(name)

    def remove(self, path: str) -> None:
        """Remove the file at ``path``, and the folders that it leaves empty."""
        *above, name = path.split("/")
        line = self._line(above)
        if len(line) <= len(above) or name not in line[-1].files:
            return
        for folder in line:
            folder.oid = ""
        line[-1].drop(name)
        for place in range(len(above), 0, -1):
            if line[place].files or line[place].folders:
                break
            line[place - 1].drop(above[place - 1])

    def rival(self, path: str) -> tuple[str, str] | None:
        """What forbids a new file at ``path``, as a start of ``path`` and an existing path.

        The two differ only by case or Unicode normalisation; or they are equal, and the existing
        one is a file where ``path`` needs a folder, or a folder at ``path``. ``None`` if nothing
        forbids it.
        """
        folder = self._root
        parts = path.split("/")
        for place, part in enumerate(parts):
            other = folder.spelled(part)
            if other is None:
                return None
            start = "/".join(parts[: place + 1])
            if other != part:
                return start, "/".join([*parts[:place], other])
            child = self._child(folder, part)
            if child is None or place == len(parts) - 1:
                return start, start
            folder = child
        return None

    def write(self) -> tuple[str, dict[str, bytes]]:
        """The id of the root's tree object, and id to content of all that changed."""
        contents: dict[str, bytes] = {}
        return self._write(self._root, contents), contents

    def _write(self, folder: _Folder, contents: dict[str, bytes]) -> str:
        if not folder.oid:
            below = {
                name: child if isinstance(child, str) else self._write(child, contents)
                for name, child in folder.folders.items()
            }
            content = tree_content(folder.files, below)
            folder.oid = object_oid("tree", content)
            contents[folder.oid] = content
        return folder.oid

    def _read(self, oid: str) -> _Folder:
        files, folders = tree_entries(self._load(oid))
        return _Folder(files, dict(folders), oid)

    def _child(self, folder: _Folder, name: str) -> _Folder | None:
        child = folder.folders.get(name)
        if isinstance(child, str):
            child = folder.folders[name] = self._read(child)
        return child

    def _line(self, parts: Sequence[str]) -> list[_Folder]:
        """The root and the folders below it along ``parts``, as far as they exist."""
        line = [self._root]
        for part in parts:
            child = self._child(line[-1], part)
            if child is None:
                break
            line.append(child)
        return line

    def _below(self, folder: _Folder, path: str) -> Iterator[str]:
        for name in folder.files:
            yield f"{path}/{name}"
        for name in list(folder.folders):
            child = self._child(folder, name)
            if child is not None:
                yield from self._below(child, f"{path}/{name}")


def folded(name: str) -> str:
    """``name`` as file systems compare it that ignore case and Unicode normalisation."""
    return unicodedata.normalize("NFC", name).casefold()
