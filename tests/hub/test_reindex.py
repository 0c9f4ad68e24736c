"""``manage.py reindex``."""

import fcntl
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from registry.search import generations, index
from registry.selectors.search.catalogue import catalogue_search
from registry.tables import MLModel

pytestmark = pytest.mark.django_db


def reindex(*arguments: str) -> str:
    """What the command prints."""
    out = StringIO()
    call_command("reindex", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def test_it_builds_the_index_anew(data_dir: Path, galaxy: MLModel) -> None:
    assert catalogue_search(None).total == 1
    old = generations.current()
    assert reindex() == "Indexed 1 models.\n"
    assert generations.current() != old
    assert catalogue_search(None).total == 1


def test_it_labels_what_was_shared_before_there_were_labels(
    data_dir: Path, galaxy: MLModel, secret: MLModel
) -> None:
    drawn = list(galaxy.labels.order_by("pk").values_list("kind", "value"))
    galaxy.labels.all().delete()
    reindex()
    assert list(galaxy.labels.order_by("pk").values_list("kind", "value")) == drawn
    assert ("other", "astronomy") in drawn


def test_it_lets_the_index_catch_up(data_dir: Path, galaxy: MLModel) -> None:
    assert reindex("--catch-up") == "The search index is up to date.\n"
    built = generations.current()
    assert built
    reindex("--catch-up")
    assert generations.current() == built


def test_it_says_when_another_process_is_indexing(
    data_dir: Path, galaxy: MLModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    reindex()
    monkeypatch.setattr(index, "FIRST_WAIT_S", 0.05)
    with (data_dir / "index" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(CommandError, match="Another process is indexing"):
            reindex()
