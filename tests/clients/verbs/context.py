"""What calls of verbs work with: the clients of people, new repositories, a folder."""

import itertools
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import CommitOperationAdd, HfApi
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

#: Tensors of :data:`WEIGHTS`, as its header describes them.
TENSORS = {"weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}


def _safetensors() -> bytes:
    header = json.dumps(TENSORS).encode()
    return len(header).to_bytes(8, "little") + header + bytes(24)


#: A valid file of safetensors, which the default attributes make an LFS file.
WEIGHTS = _safetensors()
CARD = b"---\nlicense: mit\ntags: [astronomy]\n---\n# A card\n"


class Context:
    """People and what they own.

    Attributes:
        api: Client of alice, whose token the environment names.
        bob: Client of bob, who shares nothing with alice.
        charlie: Client of the admin of the organisation ``lab``.
        nobody: Client without a token.
        folder: An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.api = HfApi()
        self.bob = HfApi(token=os.environ["BOB_TOKEN"])
        self.charlie = HfApi(token=os.environ["CHARLIE_TOKEN"])
        self.nobody = HfApi(token=False)
        self.folder = folder
        self._numbers = itertools.count(1)

    def name(self, owner: str = "alice") -> str:
        """A name that is not in use."""
        return f"{owner}/verb-{next(self._numbers)}"

    def repo(
        self,
        files: Mapping[str, bytes] | None = None,
        *,
        kind: str = "model",
        owner: str = "alice",
        private: bool = False,
    ) -> str:
        """The name of a new repository with ``files``, owned by alice, bob or lab.

        The commit of the files is no other repository's, even one of the same second: the cache of
        the client is emptied by commits.
        """
        api = {"alice": self.api, "bob": self.bob, "lab": self.charlie}[owner]
        name = self.name(owner)
        api.create_repo(name, repo_type=kind, private=private)
        if files:
            api.create_commit(
                name,
                [CommitOperationAdd(path, data) for path, data in files.items()],
                commit_message="Add files",
                commit_description=f"Of {name}.",
                repo_type=kind,
            )
        return name

    def path(self, data: bytes = b"") -> Path:
        """A new file below the folder."""
        path = self.folder / f"file-{next(self._numbers)}"
        path.write_bytes(data)
        return path

    def new_folder(self, files: Mapping[str, bytes] | None = None) -> Path:
        """A new folder below the folder."""
        folder = self.folder / f"folder-{next(self._numbers)}"
        folder.mkdir()
        for path, data in (files or {}).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        return folder


def refused(error: type[Exception], call: Callable[[], Any], *words: str, status: int = 0) -> None:
    """Assert that ``call`` raises ``error`` itself, with ``words`` in its text.

    A subclass is another refusal: clients choose what to do by the class.
    """
    raised, answer = outcome(call)
    assert raised is not None, f"not refused with {error.__name__}: {answer!r}"
    assert type(raised) in _names_of(error), f"{type(raised).__name__}: {raised}"
    for word in words:
        assert word in str(raised), f"{word!r} is not in: {raised}"
    if status:
        response = getattr(raised, "response", None)
        assert response is not None and response.status_code == status, raised  # noqa: PT018


def outcome(call: Callable[[], Any]) -> tuple[Exception | None, Any]:
    """What ``call`` raises, or what it returns."""
    try:
        answer = call()
        # Lists ask the hub when they are read.
        if hasattr(answer, "__next__"):
            next(answer, None)
    except Exception as raised:  # noqa: BLE001 (the caller compares it)
        return raised, None
    return None, answer


def _names_of(error: type[Exception]) -> tuple[type[Exception], ...]:
    """``error``, and what other releases raise in its place."""
    if error is EntryNotFoundError:
        # Newer clients tell a remote from a local entry.
        return (error, *error.__subclasses__())
    if error is HfHubHTTPError:
        # 0.36 sometimes raises the class that it derives from.
        return (error, *error.__bases__)
    return (error,)
