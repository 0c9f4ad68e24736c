"""What queries cost as tables grow: their plans, explained by the database.

PostgreSQL runs each query again and counts the rows that it read from tables and indexes; SQLite
says whether it walks a whole table or sorts.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

#: Tables that grow with the number of models.
GROWING = (
    *("registry_mlmodel", "registry_revision", "registry_ref", "registry_identifier"),
    *("registry_blob", "registry_file", "registry_fileseries"),
    *("registry_xorb", "registry_auditentry", "registry_job"),
)
_CUT = re.compile(r"LIMIT \d+(\) subquery)?$")
_SCAN = re.compile(r"SCAN (\w+)")


def assert_reads_few(run: Callable[[], Any], *, most: int) -> None:
    """Fail if a SELECT of ``run`` reads more than ``most`` rows, or on SQLite if it walks a whole
    table of :data:`GROWING` or sorts before a LIMIT."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    with CaptureQueriesContext(connection) as captured:
        run()
    queries = [one["sql"] for one in captured.captured_queries]
    selects = [sql for sql in queries if sql.lstrip("(").startswith(("SELECT", "WITH"))]
    assert selects
    for sql in selects:
        if connection.vendor == "postgresql":
            read = sum(_rows_read(_explained(sql)))
            assert read <= most, f"{read} rows: {sql}\n{json.dumps(_explained(sql), indent=1)}"
        else:
            steps = _steps(sql)
            is_cut = _CUT.search(sql) is not None
            assert not _walks(steps, is_cut=is_cut), f"{steps}: {sql}"


def _walks(steps: list[str], *, is_cut: bool) -> list[str]:
    sorts = [step for step in steps if "TEMP B-TREE FOR ORDER BY" in step]
    scans = [step for step in steps if (match := _SCAN.match(step)) and match[1] in GROWING]
    # In the order of an index, a scan ends at the limit.
    return sorts if is_cut else scans


def _steps(sql: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        return [row[3] for row in cursor.fetchall()]


def _explained(sql: str) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")
        ((plans,),) = cursor.fetchall()
    plan = json.loads(plans) if isinstance(plans, str) else plans
    root: dict[str, Any] = plan[0]["Plan"]
    return root


def _rows_read(node: dict[str, Any]) -> Iterator[float]:
    if "Relation Name" in node:
        removed = node.get("Rows Removed by Filter", 0) + node.get(
            "Rows Removed by Index Recheck", 0
        )
        yield (node["Actual Rows"] + removed) * node["Actual Loops"]
    for inner in node.get("Plans", ()):
        yield from _rows_read(inner)
