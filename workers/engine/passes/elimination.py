"""Finds passes that can be left out together."""

from collections.abc import Sequence

from workers.engine.passes.evaluation import ComparisonEffort, PassEvaluator
from workers.engine.passes.menu import Menu, Passes
from workers.engine.passes.study_state import StudyState


def idle_passes(menu: Menu, evaluator: PassEvaluator, state: StudyState) -> list[str]:
    """Passes that can be left out all together without changing the code. A group whose absence
    changes nothing is left out whole, others are halved: few builds then decide on many passes."""

    def fingerprints(groups: Sequence[Sequence[str]]) -> list[str]:
        lists = [menu.without(menu.default, group) for group in groups]
        return evaluator.fingerprints([menu.value(passes) for passes in lists])

    groups = [[name for name in menu.default if name not in menu.needed]]
    own, *codes = fingerprints([[], *groups])
    idle: list[list[str]] = []
    while own and groups and not state.is_over:
        codes = codes or fingerprints(groups)
        idle += [group for group, code in zip(groups, codes, strict=True) if code == own]
        others = [group for group, code in zip(groups, codes, strict=True) if code != own]
        middles = [(group, len(group) // 2) for group in others if len(group) > 1]
        groups = [half for group, at in middles for half in (group[:at], group[at:])]
        codes = []
    together = [name for group in idle for name in group]
    if not together or fingerprints([together]) == [own]:
        return together
    # Some replace each other: leave out one group after another as long as the code is the same.
    removed: list[str] = []
    while idle and not state.is_over:
        group, *idle = idle
        if fingerprints([[*removed, *group]]) == [own]:
            removed += group
        elif len(group) > 1:
            middle = len(group) // 2
            idle = [group[:middle], group[middle:], *idle]
    return removed


def interacting_passes(
    menu: Menu, state: StudyState, rest: Passes, removable: Sequence[str], effort: ComparisonEffort
) -> set[str]:
    """Of passes that can be left out one by one, those that cannot be left out together.

    Delta debugging as in Zeller, "Yesterday, my program worked. Today, it does not. Why?" (ESEC
    1999), section 4; repeated until the others can be left out. ``removable`` is part of the list
    ``rest``.
    """

    def hurts(removed: Sequence[str]) -> bool:
        if not removed:
            return False
        trial = state.try_passes("joint", menu.without(rest, removed), effort)
        return trial is not None and trial.comparison.hurts

    def narrow(suspects: list[str], also: list[str]) -> set[str]:
        if len(suspects) == 1:
            return set(suspects)
        left, right = suspects[: len(suspects) // 2], suspects[len(suspects) // 2 :]
        if hurts([*left, *also]):
            return narrow(left, also)
        if hurts([*right, *also]):
            return narrow(right, also)
        return narrow(left, [*right, *also]) | narrow(right, [*left, *also])

    interacting: set[str] = set()
    while hurts(removed := [name for name in removable if name not in interacting]):
        if state.is_over:
            break
        interacting |= narrow(removed, [])
    return interacting
