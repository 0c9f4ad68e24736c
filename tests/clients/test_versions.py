"""Unmodified releases of the Hugging Face clients against a live hub."""

from pathlib import Path

import pytest

from tests.clients.environments import CLIENTS, run

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

VERSIONS = [name for name in CLIENTS.wanted if name.startswith("hub-")]
ENDS = (VERSIONS[0], VERSIONS[-1])
#: How files travel: as the client likes, which is Xet for those that know it, or by Git LFS.
WAYS = {"default": {}, "lfs": {"HF_HUB_DISABLE_XET": "1"}}
#: The oldest and the newest go both ways: between them LFS has not changed.
LIVES = [(name, way) for name in VERSIONS for way in WAYS if way == "default" or name in ENDS]


@pytest.mark.parametrize(("version", "way"), LIVES)
def test_a_model_lives_its_whole_life(
    version: str, way: str, as_alice: dict[str, str], tmp_path: Path
) -> None:
    workdir = tmp_path / "work"
    workdir.mkdir()

    said = run(version, "whole_life", "alice/life", "model", str(workdir), **as_alice, **WAYS[way])

    assert said.split() == ["lived"]


def test_a_dataset_lives_too(as_alice: dict[str, str], tmp_path: Path) -> None:
    workdir = tmp_path / "work"
    workdir.mkdir()

    said = run("hub-2.4", "whole_life", "alice/data", "dataset", str(workdir), **as_alice)

    assert said.split() == ["lived"]


def test_transformers_saves_and_loads_a_network(as_alice: dict[str, str], tmp_path: Path) -> None:
    workdir = tmp_path / "work"
    workdir.mkdir()

    said = run("transformers", "transformers_life", "alice/tiny-bert", str(workdir), **as_alice)

    assert said.split()[-1] == "lived"


def test_datasets_saves_and_loads_a_table(as_alice: dict[str, str]) -> None:
    said = run("transformers", "datasets_life", "alice/table", **as_alice)

    assert said.split()[-1] == "lived"
