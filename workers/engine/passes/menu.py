"""What a backend lets one choose: its passes, which of them it needs, which order it allows."""

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


def _any_order(passes: Sequence[str]) -> bool:  # noqa: ARG001  stands where others look
    return True


@dataclass(frozen=True, slots=True)
class Menu:
    """The passes of a backend, and how a list of them becomes options.

    Attributes:
        options: All options but ``passes``, the same for every list.
        default: The passes of the compiler's own pipeline, in its order.
        own: What the option calls that pipeline.
        full: Everything that could be of use, in an order that works; ``default`` where empty.
        needed: Those without which nothing can be built.
        legal: Whether passes may run in this order.
        leave_out: A list without a pass, and without those that cannot be without it.
        ordered: Whether a list's order is the order in which its passes run.
        nothing: The option's value for an empty list.
        more: Passes worth trying that the full list lacks; each goes to the first legal place.
        promising: Whole lists worth trying before others, as the option takes them.
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

    def without(self, passes: Passes, gone: Iterable[str]) -> Passes:
        """``passes`` without some, and without those that cannot be without them."""
        for name in gone:
            passes = self.leave_out(passes, name)
        return passes

    def extras(self) -> Passes:
        """Passes of the full list, and more, that the default one lacks, each once."""
        known = (*self.full, *self.more)
        return tuple(dict.fromkeys(name for name in known if name not in self.default))

    def with_extra(self, passes: Sequence[str], name: str) -> Passes:
        """``passes`` with one more, placed where the full list first has it."""
        earlier = set(self.full[: self.full.index(name)]) if name in self.full else set()
        at = max((place + 1 for place, each in enumerate(passes) if each in earlier), default=0)
        inserted = (*passes[:at], name, *passes[at:])
        if self.legal(inserted):
            return inserted
        # What also runs later in the full list may have pulled it too far back.
        places = ((*passes[:n], name, *passes[n:]) for n in range(len(passes) + 1))
        return next((each for each in places if self.legal(each)), inserted)


@runtime_checkable
class PassBackend(Backend, Protocol):
    """A backend whose passes can be chosen by its option ``passes``."""

    def menu(self, network: Network, target: TargetSpec) -> Menu:
        """The passes to choose from. Runs in the worker: imports nothing heavy."""
        ...

    def rehearse(
        self,
        network: Network,
        target: TargetSpec,
        options: Options,
        out: Path,
        *,
        timed: bool,
    ) -> tuple[float, str]:
        """Compile as :meth:`build` would, but keep nothing. Runs in a limited child process.

        Args:
            options: Of the menu, with a list of passes.
            out: Empty folder for what must be written.
            timed: Whether the seconds count, so that all that compiling is must be done and
                nothing else; otherwise only the fingerprint does.

        Returns:
            Seconds, and what is equal for lists that make the same code: empty where that cannot
            be told, or was not asked for.

        Raises:
            InvalidCandidate: as :meth:`build`.
        """
        ...
