"""Rows of the tables before migration 0027, and what it must make of them."""

from datetime import UTC, datetime
from typing import Any

from django.db import connection

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def fill(tables: Any) -> dict[str, dict[str, tuple[str, str]]]:
    """Two repositories of forty revisions; commit id to path to blob and last change."""
    namespace = tables.get_model("registry", "Namespace").objects.create(name="lab", kind="user")
    expected: dict[str, dict[str, tuple[str, str]]] = {}
    for number in range(2):
        mlmodel = tables.get_model("registry", "MLModel").objects.create(
            namespace=namespace, name=f"net-{number}", updated_at=_NOW
        )
        parent, files = None, {}
        for turn in range(40):
            revision = _revision(tables, mlmodel, parent, number * 100 + turn)
            sha256 = _blob(tables, number * 100 + turn)
            files = files | {f"{turn % 7}.bin": (sha256, revision)}
            if turn % 10 == 9:
                files = {path: row for path, row in files.items() if path != "3.bin"}
            file = tables.get_model("registry", "File")
            file.objects.bulk_create(
                file(
                    revision=revision,
                    path=path,
                    blob_id=blob,
                    oid=blob[:40],
                    is_lfs=True,
                    changed_in=changed_in,
                )
                for path, (blob, changed_in) in files.items()
            )
            revision.file_count = len(files)
            revision.save()
            expected[revision.oid] = {path: (blob, at.oid) for path, (blob, at) in files.items()}
            # Lines that part, and keys with gaps between them.
            parent = revision if turn % 5 else parent
            _revision(tables, mlmodel, None, number * 100 + turn + 50).delete()
    return expected


def _revision(tables: Any, mlmodel: Any, parent: Any, number: int) -> Any:
    return tables.get_model("registry", "Revision").objects.create(
        mlmodel=mlmodel,
        parent=parent,
        oid=f"{number:040x}",
        tree_oid="0" * 40,
        directory_oid="0" * 40,
        author_line="A <a@example.org> 0 +0000",
        message="Change",
        created_at=_NOW,
    )


def _blob(tables: Any, number: int) -> str:
    columns = {"sha256": f"{number:064x}", "size_bytes": 1, "git_oid": f"{number:040x}"}
    return str(tables.get_model("registry", "Blob").objects.create(**columns).sha256)


def check(tables: Any, expected: dict[str, dict[str, tuple[str, str]]]) -> None:
    """Fail unless each revision has its files, alone."""
    series, files = (tables.get_model("registry", name).objects for name in ("FileSeries", "File"))
    revisions = tables.get_model("registry", "Revision").objects.select_related("series")
    newest = 0
    for revision in revisions.order_by("pk"):
        assert revision.series.mlmodel_id == revision.mlmodel_id
        assert (revision.series.length, revision.position) == (1, 0)
        assert revision.series.row_count == revision.file_count == revision.series.fewest_files
        rows = files.filter(series=revision.series, first__lte=0, end__gt=0)
        found = rows.values_list("path", "blob", "changed_in__oid")
        assert {path: tuple(row) for path, *row in found} == expected.pop(revision.oid)
        newest = max(newest, revision.series_id)
    assert not expected
    assert series.count() == revisions.count()
    assert not files.filter(end__lt=2**31 - 1).exists()
    connection.check_constraints()
    assert series.create(mlmodel_id=revisions.first().mlmodel_id).pk > newest
