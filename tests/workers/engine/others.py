"""Made-up experience: what searches of other networks found in the spaces of the contract."""

from collections.abc import Callable, Iterable
from random import Random

from hpcfair.precisions import Tolerance
from workers.engine.strategies import SearchProblem
from workers.engine.trials import Experience
from workers.engine.types import Candidate, Outcome
from workers.testing.strategy_contract import SPACES, cost

EVERY = [
    Candidate(name, options) for name, space in SPACES.items() for options in space.enumerate()
]
BASELINE = Candidate("alpha", SPACES["alpha"].at(0))
OTHER = Candidate("beta", SPACES["beta"].at(0))


def experience(
    network: int,
    ratio: Callable[[Candidate], float | None] = cost,
    candidates: Iterable[Candidate] = EVERY,
    *,
    embedding: tuple[float, ...] = (1.0, 0.0),
    architecture_class: str = "mlp",
    target: str = "here",
    tolerance: Tolerance = "exact",
) -> list[Experience]:
    """What a network's search found; a candidate without a ratio failed."""

    def outcome(found: float | None) -> Outcome:
        return "measured" if found is not None else "invalid"

    return [
        Experience(
            candidate=candidate,
            outcome=outcome(ratio(candidate)),
            tolerance=tolerance,
            ratio=ratio(candidate),
            network=f"network {network}",
            architecture_class=architecture_class,
            embedding=embedding,
            target=target,
            features=frozenset({"avx2"}),
            seconds=2.0,
        )
        for candidate in candidates
    ]


def many(count: int, ratio: Callable[[Candidate], float | None] = cost) -> list[Experience]:
    """Several networks that agree but for 2 % of noise, each with three quarters of all."""
    found: list[Experience] = []
    for network in range(count):
        rng = Random(network)  # noqa: S311
        some = rng.sample(EVERY, 15)
        noise = {candidate.sha256: rng.uniform(0.98, 1.02) for candidate in EVERY}

        def noisy(candidate: Candidate, noise: dict[str, float] = noise) -> float | None:
            exact = ratio(candidate)
            return None if exact is None else exact * noise[candidate.sha256]

        found += experience(network, noisy, some)
    return found


def problem(known: list[Experience], seed: int = 0) -> SearchProblem:
    """A network of a class and an embedding that the others have, too."""
    return SearchProblem(
        SPACES,
        seed,
        [BASELINE, OTHER],
        experience=known,
        architecture_class="mlp",
        embedding=(1.0, 0.0),
        target="here",
        features=frozenset({"avx2"}),
    )
