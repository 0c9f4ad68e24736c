"""Principles: what fast schedules of an operator share."""

import json
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from hub.pages.download import csv_download
from hub.pages.views import page
from registry.errors import Invalid
from registry.selectors.analysis.principle import (
    principle_get,
    principles_by_status,
    version_get,
    visible_evidence,
    visible_query,
)
from registry.statistics.experience import METHOD
from registry.tables import Principle, PrincipleVersion

_LICENSE = "https://creativecommons.org/publicdomain/zero/1.0/"
_COLUMNS = (
    "name", "workload", "target", "direction", "n", "fast_with", "fast", "rest_with", "rest",
    "log2_odds", "p", "q", "median_with_s", "median_without_s",
)  # fmt: skip


@page
def principles(request: HttpRequest) -> HttpResponseBase:
    """All principles by status, with those that are being examined."""
    context = {
        "section": "principles",
        "groups": [(name, rows) for name, rows in principles_by_status() if rows],
        "method": METHOD,
    }
    return render(request, "principle/list.html", context)


@page
def principle(request: HttpRequest, identifier: str) -> HttpResponseBase:
    """A principle: support, counter-examples, versions; ``?format=json`` or ``csv`` exports it."""
    row = principle_get(identifier)
    version = version_get(row, _number(request.GET.get("version")))
    evidence = visible_evidence(version)
    match request.GET.get("format"):
        case "json":
            return JsonResponse(_document(row, version, evidence))
        case "csv":
            return _csv(row, evidence)
    context = {
        "section": "principles",
        "principle": row,
        "version": version,
        "versions": row.versions.order_by("-number"),
        "evidence": evidence,
        "frozen": visible_query(version),
        "support": [each for each in evidence["workloads"] if each["direction"] == "for"],
        "contrary": [each for each in evidence["workloads"] if each["direction"] == "against"],
        "silent": [each for each in evidence["workloads"] if each["direction"] == "none"],
        "record": _embedded(_jsonld(row, version, evidence)),
    }
    return render(request, "principle/page.html", context)


def _number(value: str | None) -> int | None:
    if not value:
        return None
    if not value.isascii() or not value.isdigit() or len(value) > 9:
        raise Invalid("invalid_request", "The version is a whole number.")
    return int(value)


def _address(row: Principle) -> str:
    return f"{settings.HUB_URL}{reverse('principle', args=[row.identifier])}"


def _document(
    row: Principle, version: PrincipleVersion, evidence: dict[str, Any]
) -> dict[str, Any]:
    return {
        "permalink": f"{_address(row)}?version={version.number}",
        "identifier": row.identifier,
        "words": row.words,
        "statement": row.statement,
        "method": row.method,
        "status": version.status,
        "version": version.number,
        "computed_at": version.computed_at.isoformat(),
        "query": visible_query(version),
        "evidence": evidence,
        "license": _LICENSE,
    }


def _csv(row: Principle, evidence: dict[str, Any]) -> HttpResponse:
    rows = [[each[name] for name in _COLUMNS] for each in evidence["workloads"]]
    answer = csv_download(f"principle-{row.identifier[:12]}.csv", [_COLUMNS, *rows])
    answer["Link"] = f'<{_address(row)}>; rel="describedby"'
    return answer


def _jsonld(row: Principle, version: PrincipleVersion, evidence: dict[str, Any]) -> dict[str, Any]:
    """The principle as schema.org's ``Claim``, based on its workloads."""
    workloads = dict.fromkeys(each["workload"] for each in evidence["workloads"])
    return {
        "@context": "https://schema.org",
        "@type": ["Claim", "Dataset"],
        "@id": _address(row),
        "identifier": f"urn:sha256:{row.identifier}",
        "name": row.words,
        "description": f"{row.words}. Status: {version.status}.",
        "version": str(version.number),
        "dateCreated": row.created_at.isoformat(),
        "datePublished": row.published_at.isoformat() if row.published_at else None,
        "dateModified": version.computed_at.isoformat(),
        "creativeWorkStatus": version.status,
        "license": _LICENSE,
        "creator": {"@type": "Organization", "name": settings.PUBLISHER, "url": settings.HUB_URL},
        "isBasedOn": [
            f"{settings.HUB_URL}{reverse('workload', args=[uuid])}" for uuid in workloads
        ],
        "distribution": [
            {
                "@type": "DataDownload",
                "encodingFormat": kind,
                "contentUrl": f"{_address(row)}?version={version.number}&format={name}",
            }
            for name, kind in (("json", "application/json"), ("csv", "text/csv"))
        ],
    }


def _embedded(document: dict[str, Any]) -> SafeString:
    """A document for a script element: no ``<`` can end the element."""
    shown = {name: value for name, value in document.items() if value is not None}
    return mark_safe(json.dumps(shown).replace("<", "\\u003c"))  # noqa: S308 - escaped
