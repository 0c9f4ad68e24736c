"""The state of a study: its trials and its time. Each list is tried once."""

from collections.abc import Callable, Sequence

from workers.engine.clock import Clock
from workers.engine.passes.evaluation import ComparisonEffort, PassEvaluator
from workers.engine.passes.menu import Menu
from workers.engine.passes.objective import PassTrial

#: Share of the seconds that is reserved for confirming the best lists.
_RESERVE = 0.3
#: Role of a confirming trial.
_FINAL = "final"


class StudyState:
    """Trials of a study, including those of an interrupted one.

    Args:
        seconds: Budget of the study, from now.
        prior_trials: Trials of an interrupted study of the same network.
        on_trial: Called with each new trial.
    """

    def __init__(
        self,
        menu: Menu,
        evaluator: PassEvaluator,
        seconds: float,
        clock: Clock,
        prior_trials: Sequence[PassTrial],
        on_trial: Callable[[PassTrial], None],
    ) -> None:
        self.trials: list[PassTrial] = list(prior_trials)
        self._menu = menu
        self._evaluator = evaluator
        self._clock = clock
        self._started = clock.monotonic()
        self._seconds = seconds
        self._on_trial = on_trial

    @property
    def is_over(self) -> bool:
        """Whether only the reserve for confirmations is left."""
        return self._elapsed() >= self._seconds * (1 - _RESERVE)

    def try_passes(
        self, role: str, passes: Sequence[str], effort: ComparisonEffort, about: str = ""
    ) -> PassTrial | None:
        """The trial of a list, run now unless there is one; ``None`` if the time is up."""
        return self.try_value(role, self._menu.value(passes), effort, about)

    def try_value(
        self, role: str, value: str, effort: ComparisonEffort, about: str = ""
    ) -> PassTrial | None:
        """As :meth:`try_passes`, for a list as the backend's option takes it."""
        for trial in self.trials:
            if trial.passes == value and trial.role != _FINAL:
                return trial
        return None if self.is_over else self._run(role, value, effort, about)

    def confirm(self, value: str, effort: ComparisonEffort) -> PassTrial | None:
        """The confirming trial of a list; ``None`` if the time is up."""
        for trial in self.trials:
            if trial.passes == value and trial.role == _FINAL:
                return trial
        return None if self._elapsed() >= self._seconds else self._run(_FINAL, value, effort, "")

    def stop_reason(self) -> str:
        """Why the study is over, as readable text."""
        if self.is_over:
            return f"all {self._seconds:g} s used, lists tried: {len(self.trials)}"
        return f"nothing left to try, lists tried: {len(self.trials)}"

    def _run(self, role: str, value: str, effort: ComparisonEffort, about: str) -> PassTrial:
        number = self.trials[-1].number + 1 if self.trials else 0
        trial = PassTrial(number, role, value, self._evaluator.compare(value, effort), about)
        self.trials.append(trial)
        self._on_trial(trial)
        return trial

    def _elapsed(self) -> float:
        return self._clock.monotonic() - self._started
