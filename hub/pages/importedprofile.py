"""Imported profiles: what others measured, on the network of a model."""

import io
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from hub.pages import chart
from hub.pages.addresses import address, newest_first
from hub.pages.download import csv_download, json_download
from hub.pages.frame import frame, repository_page
from hub.pages.profileexport import csv_rows, json_document, provenance, trace_document
from hub.pages.topology import network_panel
from hub.pages.views import page, signed_in
from hub.templatetags.figures import percent
from registry.errors import RegistryError
from registry.profilefiles.bounds import MOST_BYTES
from registry.profilefiles.formats import FORMATS
from registry.selectors.access import require
from registry.selectors.analysis.importedprofile import (
    comparable_builds,
    imported_calls,
    imported_profile_get,
    imported_profiles_of,
    imported_totals,
    may_delete,
    own_profile,
)
from registry.selectors.results.nodetime import NodeTime, node_times
from registry.selectors.results.profile import RECONCILED
from registry.services.analysis.importedprofile import profile_delete, profile_import
from registry.services.storage.blob import blob_store
from registry.states import Role
from registry.tables import ImportedCall, ImportedProfile, MLModel, Profile

#: Calls, and groups of nodes of a comparison, on the page; the exports have all.
_CALLS, _GROUPS = 100, 40
_FORM_TEXT = 2000
_GRADES = ("exact", "inferred", "shared")


class ProfileImportForm(forms.Form):
    """A profile to import."""

    file = forms.FileField(label="Profile", help_text="At most 16 MB; the format is recognised")
    details = forms.FileField(
        required=False,
        label="Layer information",
        help_text="Of TensorRT only: the file of trtexec --exportLayerInfo",
    )
    target = forms.CharField(
        max_length=200,
        label="Measured on",
        help_text="A target of this hub, or the machine in words",
    )
    tool_version = forms.CharField(max_length=100, required=False, label="Version of the tool")
    environment = forms.CharField(
        max_length=_FORM_TEXT,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="What was the same in all runs: driver, clocks, threads, batch",
    )


@repository_page
@require_http_methods(["GET", "POST"])
def profiles(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """The imported profiles of a model; a POST imports one."""
    context = frame(request, mlmodel, tab="builds")
    form = ProfileImportForm(request.POST or None, request.FILES or None)
    if request.method == "POST":
        require(request.user, role=Role.WRITE, namespace=mlmodel.namespace)
        if form.is_valid():
            try:
                row = _import(request, context, form)
            except RegistryError as error:
                form.add_error("file" if error.code == "invalid_profile" else None, str(error))
            else:
                messages.success(request, "The profile is imported.")
                return redirect("imported-profile", row.uuid)
    rows, older = newest_first(imported_profiles_of(request.user, mlmodel), request)
    context |= {
        "profiles": rows,
        "older": older,
        "form": form,
        "formats": FORMATS.values(),
        "tools": {one.name: one.tool for one in FORMATS.values()},
    }
    return render(request, "profile/list.html", context, status=400 if form.errors else 200)


def _import(
    request: HttpRequest, context: dict[str, Any], form: ProfileImportForm
) -> ImportedProfile:
    user, values = signed_in(request), form.cleaned_data
    digests = {}
    for name in ("file", "details"):
        file: UploadedFile[bytes] | None = values[name]
        if file is not None:
            # One byte more than may be read, so that the refusal tells the limit.
            data = io.BytesIO(file.read(MOST_BYTES + 1))
            digests[name] = blob_store(actor=user, stream=data).sha256
    return profile_import(
        actor=user,
        revision=context["revision"],
        sha256=digests["file"],
        details_sha256=digests.get("details", ""),
        target=values["target"],
        tool_version=values["tool_version"],
        environment=values["environment"],
    )


@page
@require_GET
def profile(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """An imported profile: on the page, or as JSON, CSV or Chrome trace by ``?format=``."""
    row = imported_profile_get(request.user, str(uuid))
    calls = list(imported_calls(row))
    if export := _export(request, row, calls):
        return export
    revision = row.graph.revision
    builds = comparable_builds(row)
    chosen = request.GET.get("build", "")
    own = own_profile(row, chosen) if chosen else None
    times = node_times([row])
    totals = imported_totals(row, calls)
    groups = sorted(times, key=lambda each: -each.times_ns[0])
    context = {
        "section": "models",
        "profile": row,
        "mlmodel": revision.mlmodel,
        "tool": FORMATS[row.format].tool,
        "totals": totals,
        "gap": abs(row.total_ns - totals.sum_ns) / row.total_ns,
        "is_reconciled": abs(row.total_ns - totals.sum_ns) <= RECONCILED * row.total_ns,
        "hottest": [
            (call, call.median_ns / max(totals.sum_ns, 1))
            for call in sorted(calls, key=lambda each: -each.median_ns)[:_CALLS]
        ],
        "groups": [(each, each.times_ns[0] / max(totals.sum_ns, 1)) for each in groups[:10]],
        "bars": chart.bars([chart.Part(each.label, each.times_ns) for each in times], ["this run"]),
        "network": network_panel(
            request, revision.mlmodel, revision, graph=row.graph, overlay=overlay(row, calls)
        ),
        "builds": builds,
        "own": own,
        "comparison": _comparison(row, own) if own else None,
        "exports": [(name, f"?{urlencode({'format': name})}") for name in ("json", "csv", "trace")],
        "may_delete": may_delete(request.user, row),
    }
    return render(request, "profile/profile.html", context)


@page
@require_POST
def delete(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """Delete an imported profile."""
    row = imported_profile_get(request.user, str(uuid))
    mlmodel = row.graph.revision.mlmodel
    profile_delete(actor=signed_in(request), profile=row)
    messages.success(request, "The profile is deleted.")
    return redirect(address(mlmodel, "profiles"))


def overlay(row: ImportedProfile, calls: list[ImportedCall]) -> dict[str, Any]:
    """Shares of time to lay over the network: one group for each call that is linked."""
    sum_ns = max(sum(call.median_ns for call in calls), 1)
    return {
        "metric": "share of time",
        "unit": "%",
        "groups": [
            {
                "id": str(call.sequence),
                "label": call.operator or call.name,
                "nodes": [node["index"] for node in call.nodes],
                "value": 100 * call.median_ns / sum_ns,
                "text": percent(call.median_ns / sum_ns),
                "grade": max((node["grade"] for node in call.nodes), key=_GRADES.index),
                "marks": [],
            }
            for call in calls
            if call.nodes
        ],
        "folded": row.folded,
    }


def _comparison(row: ImportedProfile, own: Profile) -> dict[str, Any]:
    """Both profiles by groups of nodes, the largest difference first."""
    times = sorted(node_times([own, row]), key=_difference)
    names = ["this hub", "imported"]
    return {
        "bars": chart.bars(
            [chart.Part(each.label, each.times_ns) for each in times], names, name="comparison"
        ),
        "rows": [(each, each.times_ns[1] - each.times_ns[0]) for each in times[:_GROUPS]],
        "count": len(times),
    }


def _difference(each: NodeTime) -> int:
    return -abs(each.times_ns[1] - each.times_ns[0])


def _export(
    request: HttpRequest, row: ImportedProfile, calls: list[ImportedCall]
) -> HttpResponse | None:
    url = request.build_absolute_uri(reverse("imported-profile", args=[row.uuid]))
    file_name = f"profile-{str(row.uuid)[:8]}"
    match request.GET.get("format"):
        case "json":
            return json_download(f"{file_name}.json", json_document(row, calls, url))
        case "trace":
            return json_download(f"{file_name}.trace.json", trace_document(row, calls, url))
        case "csv":
            return csv_download(f"{file_name}.csv", csv_rows(calls), provenance(row, url))
    return None
