"""Bounded runs over a whole table or store: each one goes on where the last one ended."""

from collections.abc import Callable, Iterator, Sequence

from registry.tables import Sweep

#: Keys after a position, in order: at most as many as the second argument says, none at the end.
Reader = Callable[[str, int], Sequence[str]]


def sweep(
    name: str, read: Reader, *, at_once: int, most: int | None = None
) -> Iterator[Sequence[str]]:
    """Batches of all keys in their order, or of ``most`` keys behind those of the last run.

    A run that reaches the end goes on at the beginning, until it meets its own start. The position
    is stored before each batch, so one that fails is left to the next round.

    Args:
        name: Of the task.
        read: Reads a batch.
        at_once: Keys of one batch.
        most: Upper bound on the keys of this run; ``None`` for all, from the beginning.
    """
    row = Sweep.objects.filter(name=name).first() if most is not None else None
    start = at = row.position if row is not None else ""
    is_second_lap, count = not start, 0
    while most is None or count < most:
        keys = read(at, at_once if most is None else min(at_once, most - count))
        if is_second_lap and start:
            keys = [key for key in keys if key <= start]
        if not keys and is_second_lap:
            return
        at, is_second_lap = (keys[-1], is_second_lap) if keys else ("", True)
        if most is not None:
            Sweep.objects.update_or_create(name=name, defaults={"position": at})
        if keys:
            count += len(keys)
            yield keys
