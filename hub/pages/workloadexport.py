"""A search as data: JSON, CSV, and TVM's own database, at the address of its page."""

import csv
import io
import json
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response

from registry.errors import Invalid
from registry.selectors.analysis.workloadexport import (
    CSV_COLUMNS,
    csv_rows,
    document_of,
    tvm_database,
)
from registry.selectors.analysis.workloadsearch import WorkloadSearch
from registry.tables import ScheduleTask

#: Formats with their names on the page.
FORMATS = {"csv": "CSV", "json": "JSON", "tvm": "TVM database"}


def export(
    request: HttpRequest, task: ScheduleTask, search: WorkloadSearch, name: str
) -> HttpResponseBase:
    """The search in a format of :data:`FORMATS`. Raises ``Invalid``: ``invalid_request``."""
    if name not in FORMATS:
        names = ", ".join(FORMATS)
        raise Invalid("invalid_request", f"The format is one of {names}.", fields={"format": names})
    etag = f'"{search.version}.{name}"'
    response = get_conditional_response(request, etag=etag)
    if response is not None:
        return response
    permalink = request.build_absolute_uri(request.path)
    content, content_type, suffix = _content(task, search, permalink, name)
    answer = HttpResponse(content, content_type=content_type)
    answer["ETag"] = etag
    answer["Content-Disposition"] = f'attachment; filename="{task.anchor}-{task.uuid}.{suffix}"'
    return answer


def _content(
    task: ScheduleTask, search: WorkloadSearch, permalink: str, name: str
) -> tuple[bytes, str, str]:
    document = document_of(task, search, permalink)
    if name == "json":
        return json.dumps(document).encode(), "application/json", "json"
    if name == "tvm":
        return tvm_database(task, search, document), "application/gzip", "tvm.tar.gz"
    head: dict[str, Any] = {key: value for key, value in document.items() if key != "trials"}
    text = io.StringIO()
    text.writelines(f"# {key}: {json.dumps(value)}\n" for key, value in head.items())
    writer = csv.writer(text)
    writer.writerow([*CSV_COLUMNS, *(column.title for column in search.table.columns)])
    writer.writerows(csv_rows(search))
    return text.getvalue().encode(), "text/csv; charset=utf-8", "csv"
