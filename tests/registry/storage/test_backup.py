"""What is backed up is restored into an empty hub, on the database that the tests run on."""

import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from registry.errors import Invalid, Unavailable
from registry.selectors.people.account import user_of_token
from registry.selectors.search.catalogue import catalogue_search
from registry.services.storage.backup import backup_make, backup_restore, read_backup
from registry.services.storage.fsck import fsck
from registry.services.trust.key import current_key
from registry.storage import blob_store
from registry.tables import Blob, MLModel, Revision, User
from tests.factories import make_mlmodel, make_token, make_user, readme, store
from tests.postgres import client_folder
from tests.programs import needs

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

EmptyHub = Callable[[], AbstractContextManager[Path]]


@pytest.fixture(autouse=True)
def client_programs(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    """pg_dump and pg_restore of the server's version, before any that the machine has."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_version_num")
            folder = client_folder(int(cursor.fetchone()[0]) // 10_000)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def empty_hub(tmp_path: Path, settings: Any) -> EmptyHub:
    """A block within which the hub is another one: an empty database and data folder."""

    @contextmanager
    def block() -> Iterator[Path]:
        before, name = settings.DATA_DIR, str(connection.settings_dict["NAME"])
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        other = f"{name}_other" if connection.vendor == "postgresql" else f"{folder}/db.sqlite3"
        _execute_on_postgres(f'CREATE DATABASE "{other}"')
        settings.DATA_DIR = folder / "data"
        _connect_to(other)
        try:
            yield settings.DATA_DIR
        finally:
            settings.DATA_DIR = before
            _connect_to(name)
            _execute_on_postgres(f'DROP DATABASE "{other}"')

    return block


def _execute_on_postgres(sql: str) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(sql)


def _connect_to(name: str) -> None:
    connection.close()
    connection.settings_dict["NAME"] = name


@pytest.fixture
def hub(data_dir: Path) -> str:
    """A hub with a model, its files, keys and a token; the secret of that."""
    alice = make_user("alice")
    files = {"README.md": readme(), "model.onnx": b"net" * 5000, "data/a.bin": b"\0" * 70}
    make_mlmodel("alice/net", actor=alice, files=files)
    (data_dir / "secret.key").write_text("a secret key")
    current_key()
    return make_token(alice)


def test_what_is_backed_up_is_restored_into_an_empty_hub(
    hub: str, tmp_path: Path, data_dir: Path, empty_hub: EmptyHub
) -> None:
    path, made = backup_make(tmp_path / "backup")
    before = {
        "revisions": list(Revision.objects.order_by("pk").values_list("oid", flat=True)),
        "blobs": sorted(Blob.objects.values_list("pk", flat=True)),
        "key": current_key()[1].keyid,
    }
    assert made.copied == made.blobs == len(before["blobs"]) > 2
    with empty_hub() as folder:
        restored, damaged = backup_restore(path)
        assert (restored, damaged) == (made, [])
        assert list(fsck()) == []
        assert before == {
            "revisions": list(Revision.objects.order_by("pk").values_list("oid", flat=True)),
            "blobs": sorted(Blob.objects.values_list("pk", flat=True)),
            "key": current_key()[1].keyid,
        }
        assert user_of_token(hub).username == "alice"
        assert [one.full_name for one in catalogue_search(None).items] == ["alice/net"]
        assert (folder / "secret.key").read_text() == "a secret key"
        # It can be used: ids go on where they ended.
        make_mlmodel("alice/next", files={"README.md": readme()})
        with pytest.raises(Invalid, match="not empty"):
            backup_restore(path)
    assert MLModel.objects.count() == 1


def test_the_second_backup_copies_only_what_is_new(hub: str, tmp_path: Path) -> None:
    first = backup_make(tmp_path)[1]
    _age(tmp_path)
    store(b"something new", User.objects.get())
    second = backup_make(tmp_path)[1]
    assert (second.blobs, second.copied) == (first.blobs + 1, 1)


def test_nobody_else_can_read_it(hub: str, tmp_path: Path) -> None:
    path, _ = backup_make(tmp_path / "new")
    folders = [path, path.parent, path.parent / "blobs"]
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in folders] == [0o700] * 3
    for name in ("secret.key", "signing.key"):
        assert stat.S_IMODE((path / name).stat().st_mode) == 0o600


def test_lost_bytes_are_told(hub: str, tmp_path: Path) -> None:
    lost = Blob.objects.order_by("size_bytes").last()
    assert lost is not None
    blob_store().delete(lost.pk)
    _, made = backup_make(tmp_path)
    assert made.missing == (lost.pk,)


def test_a_backup_without_blobs_names_none(hub: str, tmp_path: Path, empty_hub: EmptyHub) -> None:
    path, made = backup_make(tmp_path / "backup", with_blobs=False)
    assert (made.blobs, made.copied) == (0, 0)
    with empty_hub():
        backup_restore(path)
        assert {fault.kind for fault in fsck(quick=True)} == {"bytes_missing"}


def test_a_damaged_backup_is_told(hub: str, tmp_path: Path, empty_hub: EmptyHub) -> None:
    path, _ = backup_make(tmp_path / "backup")
    biggest = max((path.parent / "blobs").rglob("*"), key=lambda file: file.stat().st_size)
    biggest.chmod(0o600)
    biggest.write_bytes(b"\1" * biggest.stat().st_size)
    with empty_hub():
        assert backup_restore(path)[1] == [biggest.name]
        assert [fault.kind for fault in fsck()] == ["bytes_missing"]
    dump = path / "database.dump"
    dump.write_bytes(dump.read_bytes()[:-1])
    with empty_hub(), pytest.raises(Invalid, match=r"database\.dump is damaged"):
        backup_restore(path)


def test_what_is_no_backup_of_this_kind_is_refused(
    hub: str, tmp_path: Path, empty_hub: EmptyHub
) -> None:
    with pytest.raises(Invalid, match="no complete backup"):
        read_backup(tmp_path)
    path, _ = backup_make(tmp_path / "backup")
    facts = json.loads((path / "backup.json").read_text())
    for change, message in (({"format": "x/2"}, "x/2"), ({"database": "oracle"}, "is of oracle")):
        (path / "backup.json").write_text(json.dumps(facts | change))
        with empty_hub(), pytest.raises(Invalid, match=message):
            backup_restore(path)


@needs("postgresql")
def test_missing_client_programs_are_named(
    hub: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="pg_dump is not installed"):
        backup_make(tmp_path / "backup")


def _age(folder: Path) -> None:
    """Rename the backup, as if it were of another second."""
    (made,) = (path for path in folder.iterdir() if (path / "backup.json").exists())
    made.rename(folder / "20200101T000000Z")
