"""Job bundles, for operators: export, download, results, cancellation."""

import shutil
import tempfile
from pathlib import Path
from uuid import UUID

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from hub.pages.views import act, page, signed_in
from registry.errors import Invalid, RegistryError
from registry.selectors.work.bundle import bundle_get, bundle_pieces, bundles
from registry.selectors.work.device import devices
from registry.services.work.bundle import bundle_cancel, bundle_export
from registry.services.work.bundleimport import bundle_import

_HOUR_S = 3600.0
_SHOWN = 50


class ExportForm(forms.Form):
    """The export of a bundle."""

    device = forms.ChoiceField(help_text="Devices that have a key")
    hours = forms.FloatField(label="Work in hours", min_value=0.01, max_value=720, initial=8)
    lease = forms.FloatField(
        label="Results are due in hours", min_value=1, max_value=720, initial=72
    )

    def __init__(self, *args: object, names: list[str]) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        field = self.fields["device"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
        field.choices = [(name, name) for name in names]


class ResultsForm(forms.Form):
    """The results of a device."""

    results = forms.FileField(label="Results of a device")


@page
@require_http_methods(["GET", "POST"])
def bundle_list(request: HttpRequest) -> HttpResponseBase:
    """The bundles, newest first; a POST exports one."""
    user = signed_in(request)
    rows = bundles(user)[:_SHOWN]
    names = list(devices().exclude(public_key="").values_list("name", flat=True))
    form = ExportForm(request.POST or None, names=names)
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        try:
            bundle_export(
                actor=user,
                device=values["device"],
                budget_s=values["hours"] * _HOUR_S,
                lease_s=values["lease"] * _HOUR_S,
            )
        except RegistryError as error:
            form.add_error(None, str(error))
        else:
            return redirect("bundles")
    context = {
        "tab": "bundles", "bundles": rows, "names": names, "form": form, "results": ResultsForm(),
    }  # fmt: skip
    return render(request, "bundle/list.html", context, status=400 if form.is_bound else 200)


@page
@require_GET
def bundle_file(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """The file of a bundle."""
    row = bundle_get(signed_in(request), str(uuid))
    response = StreamingHttpResponse(bundle_pieces(row), content_type="application/x-tar")
    response["Content-Disposition"] = f'attachment; filename="{row}.bundle"'
    return response


@page
@require_POST
def upload(request: HttpRequest) -> HttpResponseBase:
    """Import the results of a device."""
    user = signed_in(request)
    form = ResultsForm(request.POST, request.FILES)

    def store() -> None:
        if not form.is_valid():
            hint = "Choose the results file that the device wrote."
            raise Invalid("invalid_bundle", "No file was sent.", hint)
        file: UploadedFile[bytes] = form.cleaned_data["results"]
        with tempfile.TemporaryDirectory(dir=settings.DATA_DIR, prefix=".results-") as folder:
            path = Path(folder) / "results"
            with path.open("wb") as out:
                shutil.copyfileobj(file, out)
            bundle_import(actor=user, path=path)

    return act(request, reverse("bundles"), store, done="The results are imported.")


@page
@require_POST
def cancel(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """Queue the jobs of a bundle again."""
    user = signed_in(request)
    return act(
        request,
        reverse("bundles"),
        lambda: bundle_cancel(actor=user, uuid=str(uuid)),
        done="The jobs are queued again.",
    )
