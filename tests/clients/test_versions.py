"""Unmodified releases of the Hugging Face clients against a live hub."""

from pathlib import Path

import pytest

from tests.clients.environments import CLIENTS, run

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

VERSIONS = [name for name in CLIENTS.wanted if name.startswith("hub-")]
#: How files travel: as the client likes, which is Xet for those that know it, or by Git LFS.
WAYS: dict[str, dict[str, str]] = {"default": {}, "lfs": {"HF_HUB_DISABLE_XET": "1"}}
#: The oldest and the newest go both ways: between them LFS has not changed. Data sets differ from
#: models in their addresses alone, so that each of the two ways has one of each.
LIVES = [
    *((name, "default", "model") for name in VERSIONS if name != "hub-1.33"),
    ("hub-1.33", "default", "dataset"),
    (VERSIONS[0], "lfs", "model"),
    (VERSIONS[-1], "lfs", "dataset"),
]


@pytest.mark.parametrize(("version", "way", "kind"), LIVES)
def test_a_repository_lives_its_whole_life(
    version: str, way: str, kind: str, as_alice: dict[str, str], tmp_path: Path
) -> None:
    workdir = tmp_path / "work"
    workdir.mkdir()

    said = run(version, "whole_life", "alice/life", kind, str(workdir), **as_alice, **WAYS[way])

    assert said.split() == ["lived"]


def test_transformers_saves_and_loads_a_network(as_alice: dict[str, str], tmp_path: Path) -> None:
    workdir = tmp_path / "work"
    workdir.mkdir()

    said = run("transformers", "transformers_life", "alice/tiny-bert", str(workdir), **as_alice)

    assert said.split()[-1] == "lived"


def test_datasets_saves_and_loads_a_table(as_alice: dict[str, str]) -> None:
    said = run("transformers", "datasets_life", "alice/table", **as_alice)

    assert said.split()[-1] == "lived"
