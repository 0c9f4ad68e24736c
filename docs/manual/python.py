"""Reference of the Python API, from the docstrings of the package's public names."""

import inspect
import itertools
import re
from collections.abc import Iterator
from typing import Any

import hpcfair

#: An entry of a section of a docstring that describes several names.
_SHARED = re.compile(r"(?P<indent> {4,})(?P<names>\w+(?:, \w+)+):(?P<text>.*)")


def python_page() -> str:
    """Functions, then the client, then the other classes, then warnings and errors."""
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    functions = [name for name in hpcfair.__all__ if name.islower()]
    classes = [name for name in hpcfair.__all__ if not name.islower() and name != "Client"]
    problems = [name for name in classes if issubclass(getattr(hpcfair, name), Exception)]
    yield from ("## Functions", "", *(_directive("autofunction", name) for name in functions))
    methods = [f".. automethod:: {name}" for name in _methods()]
    yield from ("## Client", "", _directive("autoclass", "Client", "", *methods))
    yield from ("## Classes", "")
    for name in classes:
        if name not in problems:
            methods = [f".. automethod:: {method}" for method in _inherited(getattr(hpcfair, name))]
            yield _directive("autoclass", name, ":members:", ":undoc-members:", "", *methods)
    yield from ("## Errors and warnings", "")
    yield from (_directive("autoexception", name, ":show-inheritance:") for name in problems)


def _methods() -> Iterator[str]:
    """Public methods of the client, by area, each area in the order of its module."""
    for base in hpcfair.Client.__mro__:
        yield from (name for name in vars(base) if not name.startswith("_"))


def _inherited(kind: type) -> Iterator[str]:
    """Public methods of a class that other classes of the package define."""
    for base in kind.__mro__[1:]:
        if base.__module__.startswith("hpcfair."):
            methods = (name for name, each in vars(base).items() if inspect.isfunction(each))
            yield from (m for m in methods if not m.startswith("_") and m not in vars(kind))


def _directive(kind: str, name: str, *options: str) -> str:
    lines = [f".. {kind}:: hpcfair.{name}", *(f"   {option}" for option in options)]
    return "\n".join(["```{eval-rst}", *lines, "```", ""])


def split_names(_app: Any, _what: str, _name: str, _object: Any, _: Any, lines: list[str]) -> None:
    """Give each name of ``low, high: text`` an entry of its own, in the docstring's ``lines``.

    Sphinx would read the first names as the type of the last one.
    """
    lines[:] = list(itertools.chain.from_iterable(_entries(list(lines))))


def _entries(lines: list[str]) -> Iterator[list[str]]:
    at = 0
    while at < len(lines):
        shared = _SHARED.fullmatch(lines[at])
        end = at + 1
        if shared is None:
            yield [lines[at]]
        else:
            while lines[end : end + 1] and lines[end].startswith(f"{shared['indent']} "):
                end += 1
            for name in shared["names"].split(", "):
                yield [f"{shared['indent']}{name}:{shared['text']}", *lines[at + 1 : end]]
        at = end
