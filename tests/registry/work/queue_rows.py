"""Thousands of waiting jobs in seconds, and the plans of the statements that read them."""

import json
import re
from collections.abc import Callable
from typing import Any

from django.db import connection
from django.utils import timezone

from registry.fairshare import NEW_ACCOUNT, rank
from registry.states import JobKind
from registry.tables import FileSeries, Job, JobFlow, JobQueue, Revision, Target, User
from tests.registry.shopfloor import make_revision


def fill(target: Target, *, jobs: int, owners: int) -> list[Job]:
    """Jobs that wait on a target, dealt to the owners in turn."""
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
    revisions = Revision.objects.bulk_create(
        (
            Revision(
                mlmodel=first.mlmodel,
                series=series,
                position=number,
                oid=f"{number:040x}",
                tree_oid=first.tree_oid,
                author_line=first.author_line,
                message="",
                created_at=now,
            )
            for number in range(jobs)
        ),
        batch_size=2000,
    )
    rows = Job.objects.bulk_create(
        (
            Job(
                kind=JobKind.TUNE,
                revision=revision,
                target=target,
                flow=flows[number % owners],
                queue_rank=rank(submitted_at=now, priority=100, estimate_s=40.0) + number,
                estimate_s=40.0,
                requested_by=users[number % owners],
            )
            for number, revision in enumerate(revisions)
        ),
        batch_size=2000,
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return rows


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
