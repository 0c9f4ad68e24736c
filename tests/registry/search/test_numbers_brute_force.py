"""Searches by numbers of models and of their best builds must equal plain Python over the rows."""

import operator
import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import AnonymousUser

from registry.scenarios import Scenario
from registry.search import index, sampling
from registry.search.vocabulary import NUMBERS
from registry.selectors.search.catalogue import catalogue_search
from registry.states import ToleranceClass
from registry.tables import Assessment, BestBuild, MLModel, Revision
from tests.registry.search import rows
from tests.registry.search.test_catalogue_pages import walked

MODELS, SEARCHES = 90, 60
SLUGS = ["x86-64-avx2", "x86-64-avx512", "nvidia-h200"]
CLASSES = list(ToleranceClass)
#: Few values, so that many models have equal ones, at and beside the bounds below.
NANOSECONDS = [1_000, 2_000, 4_999_999, 5_000_000, 5_000_001, 3 * 10**11]
RATIOS = [1.0, 0.5, 0.5000000000000001, 1 / 3, 0.1]
THROUGHPUTS = [None, 0.5, 499.99, 500.0, 500.0000000001, 2e6]
ACCURACIES = [None, 0.5, 0.949, 0.95, 1.0]
PARAMETERS = [None, 0, 9_999_999, 10_000_000, 7_000_000_000_000]
SIZES = [0, 99_999_999, 100_000_000, 2**40]
POINTS = [None, 0.0, 20.0, 21.0, 25.0]
BOUNDS = {
    "latency": [("5ms", 5_000_000), ("2us", 2_000), ("300s", 3 * 10**11)],
    "gain": [("2", 2), ("1", 1), ("3x", 3), ("9.5", Fraction(19, 2))],
    "accuracy": [("0.95", Fraction(19, 20)), ("50%", Fraction(1, 2))],
    "throughput": [("500", 500), ("0.5", Fraction(1, 2)), ("2M", 2_000_000)],
    "parameters": [("10M", 10**7), ("0", 0), ("7T", 7 * 10**12)],
    "size": [("100MB", 10**8), ("1TiB", 2**40)],
    "fair": [("80", 80), ("84%", 84), ("0", 0)],
}
COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
Speeds = dict[tuple[str, str], dict[str, Fraction | None]]


@dataclass(frozen=True)
class Fact:
    """A model, as the test knows it; ``speeds`` are by slug and tolerance class."""

    pk: int
    is_private: bool
    tag: str
    numbers: dict[str, Fraction | None]
    speeds: Speeds

    def number(self, name: str, target: str | None, tolerance: str) -> Fraction | None:
        if not NUMBERS[name].is_speed:
            return self.numbers[name]
        values = [
            speed[name]
            for (slug, accepted), speed in self.speeds.items()
            if accepted == tolerance and target in {None, slug}
        ]
        best = min if name == "latency" else max
        return best((value for value in values if value is not None), default=None)


def exact(value: float | None) -> Fraction | None:
    return None if value is None else Fraction(value)


def invent(chance: random.Random, number: int) -> Fact:
    """A model with its rows."""
    is_private = chance.random() < 0.3
    task = chance.choice(["a", "b"])
    parameters, points = chance.choice(PARAMETERS), chance.choice(POINTS)
    row = rows.mlmodel(
        f"{'secret' if is_private else 'lab'}/m-{number}",
        uuid=UUID(int=number),
        visibility="private" if is_private else "public",
        task=task,
        parameters=parameters,
    )
    size = chance.choice(SIZES)
    Revision.objects.filter(mlmodel=row).update(size_bytes=size)
    revision = row.refs.get().revision
    if points is not None:
        # Older ones do not count.
        for each in (25.0, points):
            Assessment.objects.create(revision=revision, document={}, points=each, most=25.0)
    speeds: Speeds = {}
    if chance.random() < 0.8:
        network = rows.graph(row)
        parameters = chance.choice([one for one in PARAMETERS if one is not None])
        type(network).objects.filter(pk=network.pk).update(parameters=parameters)
        for slug in chance.sample(SLUGS, chance.randrange(4)):
            build = rows.build(network, slug)
            for tolerance in CLASSES:
                columns: dict[str, Any] = {
                    "p50_ns": chance.choice(NANOSECONDS),
                    "ratio": chance.choice(RATIOS),
                    "accuracy": chance.choice(ACCURACIES),
                }
                place = {"mlmodel": row, "target": build.target, "tolerance": tolerance}
                BestBuild.objects.create(**place, build=build, **columns)
                throughput = chance.choice(THROUGHPUTS)
                if throughput is not None:
                    offline = {"scenario": Scenario.OFFLINE, "throughput_per_s": throughput}
                    BestBuild.objects.create(**place, build=build, **columns, **offline)
                speeds[slug, tolerance] = {
                    "latency": Fraction(columns["p50_ns"]),
                    "gain": 1 / Fraction(columns["ratio"]),
                    "accuracy": exact(columns["accuracy"]),
                    "throughput": exact(throughput),
                }
    rows.announce(row)
    numbers = {
        "parameters": exact(parameters),
        "size": exact(size),
        "fair": None if points is None else Fraction(100 * points / 25.0),
    }
    return Fact(row.pk, is_private, task, numbers, speeds)


@dataclass(frozen=True)
class Question:
    """A random search: its text, and what it means."""

    text: str
    bounds: list[tuple[str, str, Fraction]]
    targets: list[str]
    tolerance: str
    task: str | None
    sort: str


def ask(chance: random.Random) -> Question:
    bounds, items = [], []
    for name in chance.sample(sorted(BOUNDS), chance.choice([0, 1, 1, 2])):
        for _ in range(chance.choice([1, 1, 2])):
            sign, (text, number) = chance.choice(sorted(COMPARE)), chance.choice(BOUNDS[name])
            bounds.append((name, sign, Fraction(number)))
            items.append(f"{name}:{sign}{text}")
    sort = chance.choice([*NUMBERS, "updated"])
    most = 1 if sort in NUMBERS and NUMBERS[sort].is_speed else 2
    targets = chance.sample(SLUGS, chance.randrange(most + 1))
    items += [f"target:{slug}" for slug in targets]
    tolerance = chance.choice([None, *CLASSES])
    items += [f"tolerance:{tolerance}"] if tolerance else []
    task = chance.choice([None, "a"])
    items += [f"task:{task}"] if task else []
    chance.shuffle(items)
    return Question(
        " ".join([*items, f"sort:{sort}"]), bounds, targets, tolerance or "exact", task, sort
    )


def answer(facts: list[Fact], asked: Question, *, sees_all: bool) -> list[int]:
    """The same search, done by looking at every fact."""

    def holds(fact: Fact, name: str, sign: str, number: Fraction) -> bool:
        values = [fact.number(name, target, asked.tolerance) for target in asked.targets or [None]]
        return all(value is not None and COMPARE[sign](value, number) for value in values)

    def matches(fact: Fact) -> bool:
        return (
            (sees_all or not fact.is_private)
            and asked.task in {None, fact.tag}
            and all((slug, "exact") in fact.speeds for slug in asked.targets)
            and all(holds(fact, *bound) for bound in asked.bounds)
        )

    def place(fact: Fact) -> tuple[Any, ...]:
        if asked.sort not in NUMBERS:
            # All have the same age.
            return (-fact.pk,)
        target = asked.targets[0] if asked.targets else None
        value = fact.number(asked.sort, target, asked.tolerance)
        if value is None:
            return 1, 0, -fact.pk
        is_ascending = asked.sort in {"latency", "parameters", "size"}
        return 0, value if is_ascending else -value, -fact.pk

    return [fact.pk for fact in sorted(filter(matches, facts), key=place)]


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.usefixtures("data_dir")
@pytest.mark.parametrize("size", ["small", "large"])
def test_random_searches_by_numbers_equal_plain_python(
    size: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if size == "large":
        # Sorted pages are bounded by the share of every 64th model.
        monkeypatch.setattr(sampling, "LARGE", 0)
        monkeypatch.setattr(sampling, "LEAST_HITS", 1)
    chance = random.Random(11)  # noqa: S311 - nothing is kept secret by it
    facts = [invent(chance, number) for number in range(1, MODELS + 1)]
    index.catch_up(wait_s=1, budget_s=60)
    # A second segment, with deletions.
    for row in MLModel.objects.filter(pk__in=[fact.pk for fact in facts[::3]]):
        rows.announce(row)
    index.catch_up(wait_s=1, budget_s=60)
    names = dict(MLModel.objects.values_list("name", "pk"))
    for _ in range(SEARCHES):
        asked = ask(chance)
        sees_all = chance.random() < 0.5
        expected = answer(facts, asked, sees_all=sees_all)
        page = catalogue_search(None if sees_all else AnonymousUser(), query=asked.text, limit=100)
        assert [row.pk for row in page.items] == expected, asked.text
        assert page.total == len(expected), asked.text
        if sees_all:
            paged = walked(query=asked.text, limit=chance.randrange(1, 9))
            assert [names[name.rpartition("/")[2]] for name in paged] == expected, asked.text
