"""The part of :mod:`benchmarks.crash` that needs Django to be set up before it is imported."""

from pathlib import Path

from django.core.management import call_command

from benchmarks.report import Figure, counted, say
from tests.factories import make_mlmodel, make_user
from tests.registry.shopfloor import floor
from tests.registry.storage.killing import kill_uploads
from tests.registry.work.queue_killing import kill_queue


def measure(folder: Path, environment: dict[str, str], kills: int, seed: int) -> dict[str, Figure]:
    """Kill this many uploaders and count the outcomes.

    Args:
        environment: Environment variables of the uploaders; this process has the same.
        seed: Seed of the random moments.
    """
    call_command("migrate", interactive=False, verbosity=0)
    make_user("lab")
    for number in range(3):
        make_mlmodel(f"lab/net-{number}")
    say(f"killing {kills} uploaders")
    tally = kill_uploads(
        log=folder / "log",
        environment=environment,
        kills=kills,
        look_every=max(40, kills // 20),
        seed=seed,
    )
    for fault in tally.broken:
        say(fault)
    lost = sum(fault.startswith("acknowledged, and not there") for fault in tally.broken)
    return {
        "kills": counted(tally.kills, "kills"),
        "acknowledged": counted(tally.acknowledged, "commits"),
        "unheard": counted(tally.unheard, "commits"),
        "lost": counted(lost, "commits"),
        "corrupt": counted(len(tally.broken) - lost, "faults"),
        "litter": counted(sum(tally.litter.values()), "leftovers"),
    }


def measure_queue(
    folder: Path, environment: dict[str, str], kills: int, seed: int
) -> dict[str, Figure]:
    """Kill this many submitters, workers and reapers of the job queue and count the outcomes."""
    for number in range(100):
        floor(f"owner{number % 3}/net{number}")
    say(f"killing {kills} submitters, workers and reapers")
    outcome = kill_queue(log=folder / "queue", environment=environment, kills=kills, seed=seed)
    say(f"killed {dict(outcome.kills)}, leased jobs were {dict(outcome.interrupted)}")
    for fault in (*outcome.lost, *outcome.twice):
        say(fault)
    return {
        "queue_kills": counted(sum(outcome.kills.values()), "kills"),
        "queue_submitted": counted(outcome.submitted, "jobs"),
        "queue_succeeded": counted(outcome.succeeded, "jobs"),
        "queue_interrupted": counted(sum(outcome.interrupted.values()), "jobs"),
        "queue_lost": counted(len(outcome.lost), "jobs"),
        "queue_twice": counted(len(outcome.twice), "jobs"),
    }
