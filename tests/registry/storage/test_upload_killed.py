"""Kill -9 at any point of an upload: what was acknowledged is there and whole, nothing else is."""

from pathlib import Path

import pytest

from registry.tables import Namespace
from tests.factories import database_url, make_mlmodel
from tests.registry.storage.killing import kill_uploads

KILLS = 40


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_killed_uploads_lose_nothing_and_show_nothing_else(
    data_dir: Path, lab: Namespace, tmp_path: Path
) -> None:
    for number in range(3):
        make_mlmodel(f"lab/net-{number}")
    environment = {
        "DJANGO_SETTINGS_MODULE": "hub.settings.development",
        "HPCFAIR_DATA": str(data_dir),
        "DATABASE_URL": database_url(),
    }
    tally = kill_uploads(
        log=tmp_path / "log", environment=environment, kills=KILLS, look_every=KILLS // 5
    )
    assert not tally.broken
    assert tally.kills >= KILLS
    # The kills must have hit: work was done, and some of it was cut off on its way.
    assert tally.acknowledged >= KILLS / 4
    assert tally.littered
