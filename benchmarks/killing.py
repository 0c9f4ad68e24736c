"""The part of :mod:`benchmarks.crash` that needs Django to be set up before it is imported."""

from pathlib import Path

from django.core.management import call_command

from benchmarks.report import Figure, counted, say
from tests.factories import make_mlmodel, make_user
from tests.registry.storage.killing import kill_uploads


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
