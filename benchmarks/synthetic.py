"""Synthetic tables for replays without measurements.

Every option of a backend has an effect on the logarithm of latency: a part common to all networks,
one common to a family, and one per network; pairs of options interact weakly. Most effects are
small, a few are large. One backend is far slower than the others with any options, like untuned
code; some configurations fail.
"""

from itertools import combinations
from math import exp, log

import numpy as np

from benchmarks.tables import Row, Table
from hpcfair.precisions import Tolerance
from workers.engine.space import Choice, Conditional, Flag, Space
from workers.engine.types import Candidate, Options

TARGET = "pretend"
FAMILIES = ("residual", "depthwise", "plain", "dense", "transformer", "mlp")

_SPACES = {
    "brisk": Space(
        {
            "default": Flag(),
            "threads": Conditional("default", (False,), Choice(("all", "one"))),
            "precision": Conditional("default", (False,), Choice(("float32", "int8"))),
            "level": Conditional(
                "precision", ("float32",), Choice(("off", "basic", "extended", "all"))
            ),
            "spinning": Conditional("threads", ("all",), Flag()),
            "execution": Conditional("threads", ("all",), Choice(("sequential", "parallel"))),
            "per_channel": Conditional("precision", ("int8",), Flag()),
            "quantise": Conditional("precision", ("int8",), Choice(("heavy", "between"))),
        }
    ),
    "vino": Space(
        {
            "hint": Choice(("latency", "throughput")),
            "precision": Choice(("float32", "bfloat16", "int8")),
            "streams": Choice(("one", "two")),
            "threads": Choice(("all", "one")),
            "pinning": Flag(),
            "preset": Conditional("precision", ("int8",), Choice(("performance", "mixed"))),
        }
    ),
    "slow": Space(
        {"level": Choice((0, 1, 2, 3)), "fuse": Flag(), "precision": Choice(("float32",))}
    ),
}
_CLASSES: dict[str, Tolerance] = {"float32": "exact", "bfloat16": "bf16", "int8": "int8"}
#: Mean logarithm of each backend's ratio, and its standard deviation between networks.
_LEVELS = {"brisk": (0.1, 0.1), "vino": (-0.05, 0.3), "slow": (3.4, 0.5)}
#: Effects common to all networks: mean and standard deviation of the logarithm.
_KNOWN = {
    "precision=int8": (-0.8, 0.3),
    "precision=bfloat16": (0.1, 0.1),
    "threads=one": (0.6, 0.1),
    "streams=two": (0.4, 0.15),
    "level=off": (0.7, 0.3),
    "level=basic": (0.4, 0.3),
    "level=extended": (0.35, 0.3),
    "hint=throughput": (0.15, 0.1),
}
_OTHERS = 0.08
_INTERACTION = 0.04
_NOISE = 0.01
_FAILS = 0.03


def tables(models_per_family: int = 2, seed: int = 0) -> list[Table]:
    """Tables of :data:`FAMILIES`; the same for the same seed."""
    world = np.random.default_rng(seed)
    common = _Effects(world, 1.0)
    drawn = []
    for at, family in enumerate(FAMILIES):
        shared = _Effects(world, 0.6)
        for number in range(models_per_family):
            own = _Effects(world, 0.3)
            drawn.append(_table(f"{family}-{number}", at, (common, shared, own), world))
    return drawn


class _Effects:
    """Effects, drawn on first use, so that equal options have equal effects."""

    def __init__(self, rng: np.random.Generator, share: float) -> None:
        self._rng = rng
        self._share = share
        self._drawn: dict[tuple[str, ...], float] = {}

    def of(self, name: tuple[str, ...], spread: float) -> float:
        if name not in self._drawn:
            heavy = self._rng.standard_t(4) * spread * self._share
            self._drawn[name] = float(np.clip(heavy, -4 * spread, 4 * spread))
        return self._drawn[name]


def _table(
    model: str, family: int, layers: tuple[_Effects, ...], rng: np.random.Generator
) -> Table:
    candidates = [Candidate(n, o) for n, s in _SPACES.items() for o in s.enumerate()]
    defaults = tuple(_default(name) for name in _SPACES)
    latency = {c.sha256: _log_latency(c, layers) for c in candidates}
    rows = []
    for candidate in candidates:
        value = latency[candidate.sha256] - latency[defaults[0].sha256]
        precision = str(candidate.options.get("precision", "float32"))
        fails = candidate not in defaults and rng.random() < _FAILS
        noise = 0.0 if candidate == defaults[0] else float(rng.normal(0, _NOISE))
        ratio = None if fails else exp(value + noise)
        outcome = "invalid" if fails else "measured"
        seconds = 2.0 + 6.0 * (precision == "int8") + 8.0 * (candidate.backend == "slow")
        rows.append(Row(candidate, outcome, _CLASSES[precision], ratio, seconds))  # type: ignore[arg-type]
    embedding = np.full(len(FAMILIES) + 1, 0.2)
    embedding[family] = 1.0
    embedding[-1] = 0.3 + 0.2 * rng.random()
    return Table(
        model=model,
        family=FAMILIES[family],
        architecture_class=FAMILIES[family],
        embedding=tuple(float(v) for v in embedding / np.linalg.norm(embedding)),
        target=TARGET,
        features=("avx2",),
        spaces=dict(_SPACES),
        defaults=defaults,
        rows=tuple(rows),
        facts={"made_up": True},
    )


def _default(backend: str) -> Candidate:
    space = _SPACES[backend]
    if backend == "brisk":
        return Candidate(backend, {"default": True})
    return Candidate(backend, space.at(0))


def _log_latency(candidate: Candidate, layers: tuple[_Effects, ...]) -> float:
    options: Options = dict(candidate.options)
    if options.get("default"):
        options = {
            "default": False, "threads": "all", "precision": "float32", "level": "all",
            "spinning": True, "execution": "sequential",
        }  # fmt: skip
    names = [f"{name}={value}" for name, value in options.items()]
    mean, spread = _LEVELS[candidate.backend]
    value = mean + sum(layer.of((candidate.backend,), spread) for layer in layers)
    for name in names:
        mean, spread = _KNOWN.get(name, (0.0, _OTHERS))
        value += mean + sum(layer.of((candidate.backend, name), spread) for layer in layers)
    for pair in combinations(names, 2):
        value += sum(layer.of((candidate.backend, *pair), _INTERACTION) for layer in layers)
    return max(value, log(0.02))
