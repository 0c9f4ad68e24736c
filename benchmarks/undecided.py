"""How long gains stay undecided on a hub, whose jobs measure on after a search.

``make bench NAME=undecided``. A new hub of this machine, as ``make serve`` starts it, gets the
example models one after another and does all that it does by itself: searches, the repetitions of
inconclusive measurements, schedules, reproductions. A search is undecided while a candidate that
was measured may be more than 5 % faster than the best build, and no job has proved or refuted it.
"""

import argparse
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import hpcfair
from benchmarks.agreement import CONSIDERABLE_GAIN, MODELS, QUICK, share
from benchmarks.calm import wait
from benchmarks.report import Figure, environment, report, say
from examples.hub import embedded_hub, user_token
from examples.models.catalogue import make
from hpcfair.outputlimits import accepts
from hpcfair.scenarios import SINGLE_STREAM
from hpcfair.types import Build

_OWNER = "undecided"
_LOOK_EVERY_S = 5.0
#: Longest time that the searches of one model may take.
_MOST_SEARCH_S = 600.0
_MOMENTS_MIN = (0, 5, 10, 30, 60)
_BASELINE = "the aim: at most 0.02 of searches an hour later"


@dataclass(slots=True)
class Course:
    """What a model's searches leave open, over time.

    Attributes:
        ended_s: When its search ended, by the benchmark's clock; ``None`` before.
        gains: Seconds since the search's end, and the largest undecided gain from then on.
    """

    ended_s: float | None = None
    gains: list[tuple[float, float]] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether no considerable gain is undecided after the search."""
        return bool(self.gains) and self.gains[-1][1] <= CONSIDERABLE_GAIN

    def gain_at(self, second: float) -> float:
        """The undecided gain ``second`` seconds after the search's end."""
        return [gain for since, gain in self.gains if since <= second][-1]


def main() -> None:
    options = _options()
    facts = environment("onnxruntime", "openvino", "nncf", "apache-tvm")
    facts |= {"models": options.models, "minutes": options.minutes}
    with tempfile.TemporaryDirectory(prefix="hpcfair-undecided-") as folder:
        files = {name: make(name, Path(folder) / "models" / name) for name in options.models}
        courses = _courses(files, Path(folder) / "hub", options.minutes * 60)
    details = {name: asdict(course) for name, course in courses.items()}
    figures = figures_of(list(courses.values()), options.minutes)
    report("undecided", figures, baseline=_BASELINE, environment=facts, details=details)


def figures_of(courses: Sequence[Course], minutes: float) -> dict[str, Figure]:
    """Shares of searches that are undecided at some moments after their ends, with Wilson's
    intervals; those after ``minutes`` are left out. What is decided stays so."""
    return {
        f"undecided_{moment}_min": share(
            sum(course.gain_at(60 * moment) > CONSIDERABLE_GAIN for course in courses), len(courses)
        )
        for moment in _MOMENTS_MIN
        if moment <= minutes
    }


def undecided_gain(inconclusive: Iterable[Mapping[str, Any]], builds: Sequence[Build]) -> float:
    """The largest relative gain that a search leaves open over the best builds; 0 without any.

    Args:
        inconclusive: The candidates in the result of a search, see
            :func:`workers.device.inconclusive.inconclusive_of`.
        builds: Builds of the model for the search's target.
    """
    gains = [0.0]
    for one in inconclusive:
        ratios = [
            build.ratio
            for build in builds
            if build.verdict == "faster"
            and build.scenario == SINGLE_STREAM
            and build.ratio is not None
            and accepts(one["tolerance"], build.tolerance)
        ]
        gains.append(min([1.0, *ratios]) / one["ratio"] - 1)
    return max(gains)


def _courses(files: Mapping[str, Path], data: Path, most_s: float) -> dict[str, Course]:
    """Publish the models, follow their jobs until no considerable gain is undecided, or ``most_s``
    after the last search's end."""
    courses = {name: Course() for name in files}
    with embedded_hub(data) as address:
        config = hpcfair.Config(
            url=address,
            token=user_token(data, _OWNER),
            cache=data / "cache",
            keys=data / "keys.json",
        )
        with hpcfair.Client(config=config) as client:
            wait()
            for name, folder in files.items():
                client.save(folder, f"{_OWNER}/{name}", message="Publish")
            started = time.monotonic()
            while not _is_over(courses, time.monotonic() - started, most_s):
                for name, course in courses.items():
                    _look(client, name, course, time.monotonic() - started)
                time.sleep(_LOOK_EVERY_S)
    return courses


def _is_over(courses: Mapping[str, Course], now: float, most_s: float) -> bool:
    """Whether nothing is left to follow. Raises RuntimeError if searches take too long."""
    ends = [course.ended_s for course in courses.values() if course.ended_s is not None]
    if len(ends) < len(courses):
        if now > _MOST_SEARCH_S * len(courses):
            raise RuntimeError(f"searches have not ended after {now:.0f} s")
        return False
    return now - max(ends) >= most_s or all(course.is_over for course in courses.values())


def _look(client: hpcfair.Client, name: str, course: Course, now: float) -> None:
    """Append what is undecided now. Raises RuntimeError if a search failed."""
    model = f"{_OWNER}/{name}"
    # Newest first.
    jobs = list(client.jobs(model=model, kind="tune"))
    for job in jobs:
        if job.state in {"failed", "cancelled"}:
            raise RuntimeError(f"a search of {name} {job.state}: {job.failure}")
    succeeded = [job for job in jobs if job.state == "succeeded"]
    if not succeeded:
        return
    inconclusive = succeeded[0].result.get("inconclusive", [])
    gain = undecided_gain(inconclusive, client.builds(model))
    if course.ended_s is None:
        course.ended_s = now
    if not course.gains or gain != course.gains[-1][1]:
        say(f"{now:7.0f} s  {name}: undecided gain {gain:.1%} after {len(succeeded)} searches")
        course.gains.append((now - course.ended_s if course.gains else 0.0, gain))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", help=f"examples, by default {','.join(MODELS)}")
    parser.add_argument("--minutes", type=float, default=60.0, help="after the last search")
    parser.add_argument("--quick", action="store_true", help="does it run? no figures to quote")
    options = parser.parse_args()
    models = QUICK if options.quick else MODELS
    options.models = options.models.split(",") if options.models else list(models)
    if options.quick:
        options.minutes = 2.0
    return options


if __name__ == "__main__":
    main()
