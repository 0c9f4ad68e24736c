"""The trials of a search of configurations as data, at the address of its page."""

import json

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from hub.pages.download import csv_download, json_download
from registry.errors import Invalid
from registry.selectors.results.trial import TRIAL_COLUMNS
from registry.tables import Job, Trial

#: Formats with their names on the page.
SEARCH_FORMATS = {"csv": "CSV", "json": "JSON"}
#: Raw samples are in the records and in the API.
_COLUMNS = tuple(name for name in TRIAL_COLUMNS if name != "measurement")


def export_search(request: HttpRequest, job: Job, trials: list[Trial], name: str) -> HttpResponse:
    """The trials in a format of :data:`SEARCH_FORMATS`. Raises ``Invalid``: ``invalid_request``."""
    if name not in SEARCH_FORMATS:
        names = ", ".join(SEARCH_FORMATS)
        raise Invalid("invalid_request", f"The format is one of {names}.", fields={"format": names})
    head = {
        "permalink": request.build_absolute_uri(reverse("search", args=[job.uuid])),
        "model": job.revision.mlmodel.full_name,
        "revision": job.revision.oid,
        "target": job.target.slug if job.target else "",
        "device": job.device.name if job.device else "",
        "environment": job.result.get("tools", {}) if isinstance(job.result, dict) else {},
    }
    rows = [{column: getattr(trial, column) for column in _COLUMNS} for trial in trials]
    file_name = f"search-{job.uuid}.{name}"
    if name == "json":
        return json_download(file_name, {**head, "trials": rows})
    texts = ([_text(value) for value in row.values()] for row in rows)
    return csv_download(file_name, [_COLUMNS, *texts], head)


def _text(value: object) -> object:
    return json.dumps(value) if isinstance(value, dict | list) else value
