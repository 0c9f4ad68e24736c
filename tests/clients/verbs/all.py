"""The whole table, and what a client has of it."""

import inspect

import huggingface_hub
from huggingface_hub import HfApi, HfFileSystem

from tests.clients.verbs import (
    absent,
    discussion,
    files,
    filesystem,
    functions,
    history,
    people,
    repositories,
)
from tests.clients.verbs.table import TABLE, Verb

#: Modules that enter verbs, in the order of the documentation.
AREAS = (repositories, files, history, functions, filesystem, discussion, people, absent)


def methods() -> set[str]:
    """The public methods of ``HfApi``."""
    return {name for name in dir(HfApi) if not name.startswith("_")}


def present() -> list[str]:
    """Verbs of the table that this client has, and that do there what the table says."""
    names = methods() | set(_functions())
    return [
        name
        for name, verb in TABLE.items()
        if ("." in name or name in names) and _number() >= _number(verb.before[0] or "0.0")
    ]


def missing() -> set[str]:
    """Public verbs of this client that the table lacks."""
    verbs = methods() | set(_functions()) - functions.LOCAL
    files = {name for name, value in vars(HfFileSystem).items() if inspect.isfunction(value)}
    verbs |= {f"HfFileSystem.{name}" for name in files if not name.startswith("_")}
    return verbs - set(TABLE)


def documented() -> list[Verb]:
    """Verbs in the order of the documentation."""
    order = [module.__name__ for module in AREAS]
    return sorted(TABLE.values(), key=lambda verb: order.index(verb.call.__module__))


def _number(version: str = huggingface_hub.__version__) -> tuple[int, int]:
    major, minor, *_ = version.split(".")
    return int(major), int(minor)


def _functions() -> list[str]:
    """Functions of the package that are not methods of ``HfApi``, and classes with a verb each."""
    names = [name for name in huggingface_hub.__all__ if not hasattr(HfApi, name)]
    return [
        name
        for name in names
        if name in TABLE or inspect.isfunction(getattr(huggingface_hub, name, None))
    ]
