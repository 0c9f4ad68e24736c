"""A search as data: JSON, CSV, and TVM's own database, at the address of its page."""

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response

from hub.pages.download import csv_download, download, json_download
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
    answer = _download(task, search, request.build_absolute_uri(request.path), name)
    answer["ETag"] = etag
    return answer


def _download(
    task: ScheduleTask, search: WorkloadSearch, permalink: str, name: str
) -> HttpResponse:
    document = document_of(task, search, permalink)
    file_name = f"{task.anchor}-{task.uuid}"
    match name:
        case "json":
            return json_download(f"{file_name}.json", document)
        case "tvm":
            content = tvm_database(task, search, document)
            return download(f"{file_name}.tvm.tar.gz", content, "application/gzip")
    head = {key: value for key, value in document.items() if key != "trials"}
    columns = [*CSV_COLUMNS, *(column.title for column in search.table.columns)]
    return csv_download(f"{file_name}.csv", [columns, *csv_rows(search)], head)
