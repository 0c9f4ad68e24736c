"""How many threads are worth trying, in words that hold on every machine of a target (ADR 5)."""


def thread_counts(cores: int) -> tuple[str, ...]:
    """Thread counts that differ on this many cores, most first."""
    if cores == 1:
        return ("one",)
    return ("all", "one") if cores < 4 else ("all", "half", "one")
