"""Registration of a target by an operator, in a form or from a file."""

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hub.pages.views import page, signed_in
from registry.errors import Conflict, Invalid
from registry.selectors.access import require_staff
from registry.services.work.target import targets_import

_LARGEST_FILE = 2**20


class TargetForm(forms.Form):
    """A target, or a file with several targets."""

    slug = forms.CharField(
        required=False,
        max_length=64,
        label="Name",
        help_text="Lower-case words joined by hyphens, such as arm64-sve",
    )
    title = forms.CharField(required=False, max_length=200)
    architecture = forms.CharField(
        required=False, max_length=32, help_text="Such as x86-64 or arm64"
    )
    features = forms.CharField(
        required=False,
        max_length=4000,
        help_text="Features that its machines must have, separated by spaces",
    )
    rank = forms.IntegerField(
        required=False,
        help_text="If a machine fits several targets, it gets the one with the highest rank",
    )
    memory_gib = forms.FloatField(
        required=False, min_value=0, max_value=2**20, label="Least memory in GiB"
    )
    cores = forms.IntegerField(
        required=False, min_value=0, max_value=65_536, label="Least number of cores"
    )
    file = forms.FileField(
        required=False,
        label="Or a file",
        help_text="JSON from hpcfair targets detect --json; the fields above are then ignored",
    )


@page
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponseBase:
    """Register a target; for operators."""
    actor = signed_in(request)
    require_staff(actor)
    form = TargetForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            rows = targets_import(actor=actor, document=_document(form.cleaned_data))
        except (Invalid, Conflict) as error:
            form.add_error(None, str(error))
        else:
            return redirect("target", slug=rows[0].slug) if len(rows) == 1 else redirect("targets")
    status = 400 if form.is_bound else 200
    return render(request, "target/new.html", {"section": "targets", "form": form}, status=status)


def _document(values: Mapping[str, Any]) -> Any:
    """The document of targets that a form describes."""
    if values["file"]:
        return _read(values["file"])
    names = ("slug", "title", "architecture")
    return {
        "targets": [
            {name: values[name] for name in names}
            | {
                "features": values["features"].split(),
                "rank": values["rank"] or 0,
                "memory_bytes": round((values["memory_gib"] or 0) * 2**30),
                "cores": values["cores"] or 0,
            }
        ]
    }


def _read(file: "UploadedFile[bytes]") -> Any:
    try:
        return json.loads(file.read(_LARGEST_FILE))
    except (ValueError, RecursionError) as error:
        raise Invalid("invalid_target", "The file is not JSON.", "Choose another file.") from error
