"""What a backend lets one choose: its passes, which of them it needs, which order it allows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from workers.engine.ports import Backend
from workers.engine.types import Options, TargetSpec, Workload

Passes = tuple[str, ...]

#: Value of the option ``passes`` that leaves the choice to the compiler.
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Menu:
    """The passes of a backend, and how a list of them becomes options.

    Attributes:
        options: All options but ``passes``, the same for every list.
        default: The passes of the compiler's own pipeline, in its order.
        full: Everything that could be of use, in an order that works; ``default`` where empty.
        needed: Those without which nothing can be built.
        before: Pairs of which the first must run before the second.
        ordered: Whether a list's order is the order in which its passes run.
        nothing: The option's value for an empty list.
    """

    options: Options
    default: Passes
    full: Passes = ()
    needed: frozenset[str] = frozenset()
    before: frozenset[tuple[str, str]] = field(default_factory=frozenset)
    ordered: bool = False
    nothing: str = "none"

    def candidate(self, value: str) -> Options:
        """The options with ``value`` for ``passes``."""
        return {**self.options, "passes": value}

    def value(self, passes: Sequence[str]) -> str:
        """A list as the option takes it."""
        return ",".join(passes) or self.nothing

    def legal(self, passes: Sequence[str]) -> bool:
        """Whether nothing needed is missing, nothing comes twice or before what it builds on."""
        at = {name: place for place, name in enumerate(passes)}
        return (
            len(at) == len(passes)
            and self.needed <= at.keys()
            and all(at[a] < at[b] for a, b in self.before if a in at and b in at)
        )

    def extras(self) -> Passes:
        """Passes of the full list that the default one lacks."""
        return tuple(name for name in self.full if name not in self.default)

    def with_extra(self, passes: Sequence[str], name: str) -> Passes:
        """``passes`` with one more, placed where the full list has it."""
        place = self.full.index(name)
        earlier = set(self.full[:place])
        at = max((i + 1 for i, each in enumerate(passes) if each in earlier), default=0)
        return (*passes[:at], name, *passes[at:])


@runtime_checkable
class PassBackend(Backend, Protocol):
    """A backend whose passes can be chosen by its option ``passes``."""

    def menu(self, workload: Workload, target: TargetSpec) -> Menu:
        """The passes to choose from. Runs in the worker: imports nothing heavy."""
        ...
