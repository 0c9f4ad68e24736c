"""Checks of runtime options, and thread counts relative to the machine."""

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from hpcfair import machine
from hpcfair.errors import BadConfig
from hpcfair.runtimes.base import Options

_Value = TypeVar("_Value")

#: Thread count by name, from the number of physical cores this process may use: a build is valid
#: on every machine of its target.
THREADS: dict[str, Callable[[int], int]] = {
    "all": lambda cores: cores,
    "half": lambda cores: max(1, cores // 2),
    "one": lambda _: 1,
}


def check_names(runtime: str, options: Options, names: Collection[str]) -> None:
    """Refuse options that are not in ``names``: raises BadConfig, which lists both."""
    unknown = sorted(set(options).difference(names))
    if unknown:
        listed = f"Its options are {', '.join(sorted(names))}." if names else "It has none."
        raise BadConfig(
            f"runtime {runtime} has no option {', '.join(map(repr, unknown))}",
            f"{listed} A newer hpcfair may have more.",
        )


def choose(runtime: str, name: str, value: object, table: Mapping[str, _Value]) -> _Value:
    """The entry of ``table`` for an option's value. Raises BadConfig, which lists the table's keys,
    for any other value."""
    if not isinstance(value, str) or value not in table:
        raise BadConfig(
            f"runtime {runtime}: {name} cannot be {value!r}", f"It is one of {', '.join(table)}."
        )
    return table[value]


def thread_count(runtime: str, options: Options) -> int:
    """Number of threads for the option ``threads``, ``all`` unless set. Builds have a key of
    :data:`THREADS`, users may state a number. Raises BadConfig if it is neither."""
    stated = options.get("threads")
    if type(stated) is int and stated > 0:
        return stated
    threads = choose(runtime, "threads", options.get("threads", "all"), THREADS)
    return threads(machine.describe().cores)
