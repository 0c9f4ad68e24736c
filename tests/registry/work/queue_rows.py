"""Thousands of waiting jobs in seconds, and the plans of the statements that read them."""

import json
import re
from collections.abc import Callable
from typing import Any

from django.db import connection
from django.db.models import Model
from django.utils import timezone

from registry.fairshare import NEW_ACCOUNT, rank
from registry.states import JobKind
from registry.tables import FileSeries, Job, JobFlow, JobQueue, Revision, Target, User
from tests.registry.shopfloor import make_revision

#: The number ``n`` in forty hexadecimal digits, and a new UUID, in the words of each database.
_HEX40, _UUID = (
    ("printf('%040x', n)", "lower(hex(randomblob(16)))")
    if connection.vendor == "sqlite"
    else ("lpad(to_hex(n), 40, '0')", "gen_random_uuid()")
)


def _repeat(row: Model, number: int, **changes: str) -> None:
    """Copies of a row, until there are ``number`` with it, by one statement.

    Args:
        changes: Column to an expression in the columns of the row and the number ``n`` of a copy,
            from 1. Each has a UUID of its own.
    """
    changes = {"uuid": _UUID} | changes
    fields = (field for field in row._meta.concrete_fields if not field.primary_key)
    columns = [field.column for field in fields if field.column]
    names = ", ".join(map(connection.ops.quote_name, columns))
    values = ", ".join(changes.get(name, connection.ops.quote_name(name)) for name in columns)
    table = connection.ops.quote_name(row._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH RECURSIVE numbers(n) AS"  # noqa: S608 (our own tables and numbers)
            f" (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {number - 1})"
            f" INSERT INTO {table} ({names})"
            f" SELECT {values} FROM {table}, numbers WHERE id = {row.pk}".replace("%", "%%"),
            [],
        )


def fill(target: Target, *, jobs: int, owners: int) -> list[int]:
    """Jobs that wait on a target, dealt to the owners in turn; returns their keys."""
    first = make_revision("alice/first")
    now = timezone.now()
    users = User.objects.bulk_create(
        User(username=f"owner{number}", date_joined=now - 2 * NEW_ACCOUNT)
        for number in range(owners)
    )
    queue, _ = JobQueue.objects.get_or_create(name=f"target.{target.slug}")
    flows = JobFlow.objects.bulk_create(
        JobFlow(queue=queue, level=0, account=user, is_waiting=True) for user in users
    )
    series = FileSeries.objects.create(mlmodel=first.mlmodel)
    revision = Revision.objects.create(
        mlmodel=first.mlmodel,
        series=series,
        position=0,
        oid=f"{0:040x}",
        tree_oid=first.tree_oid,
        author_line=first.author_line,
        message="",
        created_at=now,
    )
    _repeat(revision, jobs, position="n", oid=_HEX40)
    job = Job.objects.create(
        kind=JobKind.TUNE,
        revision=revision,
        target=target,
        flow=flows[0],
        queue_rank=rank(submitted_at=now, priority=100, estimate_s=40.0),
        estimate_s=40.0,
        requested_by=users[0],
    )
    # Rows that are made at once have consecutive keys.
    assert [flow.pk - flows[0].pk for flow in flows] == list(range(owners))
    assert [user.pk - users[0].pk for user in users] == list(range(owners))
    _repeat(
        job,
        jobs,
        revision_id=f"(SELECT id FROM registry_revision"  # noqa: S608 (a number of ours)
        f" WHERE series_id = {series.pk} AND position = n)",
        flow_id=f"{flows[0].pk} + n % {owners}",
        requested_by_id=f"{users[0].pk} + n % {owners}",
        queue_rank="queue_rank + n",
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    keys = list(Job.objects.filter(flow__in=flows).order_by("pk").values_list("pk", flat=True))
    assert len(keys) == jobs
    return keys


def statements(act: Callable[[], Any]) -> list[tuple[str, Any]]:
    """The statements with their parameters that read jobs or flows while ``act`` runs."""
    executed: list[tuple[str, Any]] = []

    def capture(execute: Any, sql: str, params: Any, *context: Any) -> Any:
        executed.append((sql, params))
        return execute(sql, params, *context)

    with connection.execute_wrapper(capture):
        act()
    return [(sql, params) for sql, params in executed if re.search(r"registry_job(flow)?\b", sql)]


def scans(sql: str, params: Any) -> list[str]:
    """The steps of a statement's plan that read all jobs."""
    if not sql.startswith(("SELECT", "UPDATE", "DELETE")):
        return []
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            # With parameters: a partial index is of use only if their values are known.
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
            steps = [row[3] for row in cursor.fetchall()]
            return [step for step in steps if re.match(r"SCAN (registry_job|other|U\d)\b", step)]
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params)
        plan = cursor.fetchone()[0]
        return list(_many_rows((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]))


def _many_rows(step: dict[str, Any]) -> list[str]:
    """Steps that read more rows than the limits of counts allow."""
    read = step.get("Actual Rows", 0) * step.get("Actual Loops", 1)
    removed = step.get("Rows Removed by Filter", 0) * step.get("Actual Loops", 1)
    is_leaf = "Scan" in step["Node Type"]
    own = [f"{step['Node Type']} {step.get('Index Name', '')}: {read + removed} rows"]
    below = [line for child in step.get("Plans", ()) for line in _many_rows(child)]
    return (own if is_leaf and read + removed > 12_000 else []) + below
