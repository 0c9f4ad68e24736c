"""The books of a study: each list is tried once, and only while there is time."""

from collections.abc import Callable, Sequence

from workers.engine.passes.evaluation import ComparisonEffort, PassEvaluator
from workers.engine.passes.menu import Menu
from workers.engine.passes.objective import PassTrial
from workers.engine.ports import Clock

#: Share of the seconds kept for measuring the best again.
_RESERVE = 0.3


class StudyState:
    """Trials of a study, those of an interrupted one included."""

    def __init__(
        self,
        menu: Menu,
        evaluator: PassEvaluator,
        seconds: float,
        clock: Clock,
        known: Sequence[PassTrial],
        keep: Callable[[PassTrial], None],
    ) -> None:
        self.trials: list[PassTrial] = list(known)
        self._menu = menu
        self._evaluator = evaluator
        self._clock = clock
        self._started = clock.monotonic()
        self._seconds = seconds
        self._keep = keep

    @property
    def spent(self) -> bool:
        """Whether only what is kept for the end is left."""
        return self._elapsed() >= self._seconds * (1 - _RESERVE)

    def trial(
        self, role: str, passes: Sequence[str], effort: ComparisonEffort, about: str = ""
    ) -> PassTrial | None:
        """The trial of a list, made now unless it was before; ``None`` when there is no time."""
        return self.value(role, self._menu.value(passes), effort, about)

    def value(
        self, role: str, value: str, effort: ComparisonEffort, about: str = ""
    ) -> PassTrial | None:
        """As :meth:`trial`, of a list as the option takes it."""
        for known in self.trials:
            if known.passes == value and known.role != "final":
                return known
        return None if self.spent else self._made(role, value, effort, about)

    def final(self, value: str, effort: ComparisonEffort) -> PassTrial | None:
        """The list measured again; ``None`` when there is no time."""
        for known in self.trials:
            if known.passes == value and known.role == "final":
                return known
        return None if self._elapsed() >= self._seconds else self._made("final", value, effort, "")

    def ended(self) -> str:
        """Why the study is over, for people."""
        if self.spent:
            return f"all {self._seconds:g} s used, lists tried: {len(self.trials)}"
        return f"nothing left to try, lists tried: {len(self.trials)}"

    def _made(self, role: str, value: str, effort: ComparisonEffort, about: str) -> PassTrial:
        number = self.trials[-1].number + 1 if self.trials else 0
        trial = PassTrial(number, role, value, self._evaluator.compare(value, effort), about)
        self.trials.append(trial)
        self._keep(trial)
        return trial

    def _elapsed(self) -> float:
        return self._clock.monotonic() - self._started
