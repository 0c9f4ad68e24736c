"""The passes of a backend: which can be selected, which are needed, which orders are legal."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from workers.engine.ports import Backend
from workers.engine.types import Network, Options, TargetSpec

Passes = tuple[str, ...]

#: The list that others are compared with: the compiler's own pipeline.
DEFAULT = "default"


def _leave_out(passes: Sequence[str], name: str) -> Passes:
    return tuple(each for each in passes if each != name)


def _any_order(passes: Sequence[str]) -> bool:  # noqa: ARG001  a default for predicates of the list
    return True


@dataclass(frozen=True, slots=True)
class Menu:
    """The selectable passes of a backend, and how a list of them becomes options.

    Attributes:
        options: All options but ``passes``, the same for every list.
        default: The passes of the compiler's own pipeline, in its order.
        own: The option's value for that pipeline.
        full: All useful passes, in an order that works; ``default`` if empty.
        needed: Passes without which nothing can be built.
        legal: Whether passes may run in this order.
        leave_out: A list without a pass, and without those that depend on it.
        ordered: Whether the passes of a list run in its order.
        nothing: The option's value for an empty list.
        more: Passes worth trying outside the full list; each goes to its first legal position.
        promising: Whole lists to try before others, as the option takes them.
    """

    options: Options
    default: Passes
    full: Passes = ()
    needed: frozenset[str] = frozenset()
    legal: Callable[[Sequence[str]], bool] = _any_order
    leave_out: Callable[[Sequence[str], str], Passes] = _leave_out
    ordered: bool = False
    nothing: str = "none"
    more: Passes = ()
    promising: tuple[str, ...] = ()
    own: str = DEFAULT

    def candidate(self, value: str) -> Options:
        """The options with the list ``value``, or :data:`DEFAULT`, for ``passes``."""
        return {**self.options, "passes": self.own if value == DEFAULT else value}

    def value(self, passes: Sequence[str]) -> str:
        """A list as the option takes it."""
        return ",".join(passes) or self.nothing

    def without(self, passes: Passes, removed: Iterable[str]) -> Passes:
        """``passes`` without ``removed``, and without those that depend on them."""
        for name in removed:
            passes = self.leave_out(passes, name)
        return passes

    def extras(self) -> Passes:
        """Passes of the full list, and of ``more``, that the default list lacks, each once."""
        names = (*self.full, *self.more)
        return tuple(dict.fromkeys(name for name in names if name not in self.default))

    def with_extra(self, passes: Sequence[str], name: str) -> Passes:
        """``passes`` with one more, at its first position in the full list."""
        earlier = set(self.full[: self.full.index(name)]) if name in self.full else set()
        at = max((place + 1 for place, each in enumerate(passes) if each in earlier), default=0)
        inserted = (*passes[:at], name, *passes[at:])
        if self.legal(inserted):
            return inserted
        # A pass that occurs again later in the full list may have moved it too far back.
        positions = ((*passes[:n], name, *passes[n:]) for n in range(len(passes) + 1))
        return next((each for each in positions if self.legal(each)), inserted)


@runtime_checkable
class PassBackend(Backend, Protocol):
    """A backend whose passes can be selected by its option ``passes``."""

    def menu(self, network: Network, target: TargetSpec) -> Menu:
        """The selectable passes. Runs in the worker: must not import the heavy library."""
        ...

    def rehearse(
        self, network: Network, target: TargetSpec, options: Options, out: Path, *, timed: bool
    ) -> tuple[float, str]:
        """Compile as :meth:`build` does, but keep nothing. Runs in a limited child process.

        Args:
            options: Of the menu, with a list of passes.
            out: Empty folder for temporary files.
            timed: Whether the duration is needed, so that the whole compilation must run and
                nothing else; otherwise only the fingerprint is needed.

        Returns duration in seconds, and a fingerprint that is equal for equal code; empty if
        unknown or not requested. Raises InvalidCandidate as :meth:`build`.
        """
        ...
