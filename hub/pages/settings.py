"""Settings of a model or a data set, for users who may write to it."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from hub.pages.addresses import address
from hub.pages.doi import panel
from hub.pages.frame import frame, repository_page
from hub.pages.views import act
from registry.errors import Conflict, Invalid
from registry.selectors.access import require
from registry.selectors.people.account import namespaces_of
from registry.selectors.repository.gate import requests_of
from registry.selectors.repository.revision import refs_of
from registry.selectors.storage.quota import usage
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_move, mlmodel_update
from registry.states import Gate, RefKind, RequestState, Role, Visibility
from registry.tables import MLModel, User


class SettingsForm(forms.Form):
    """Visibility, gate and default branch."""

    visibility = forms.ChoiceField(
        choices=[
            (Visibility.PUBLIC, "public: everybody can find and read it"),
            (Visibility.PRIVATE, "private: members of its owner only"),
        ]
    )
    gate = forms.ChoiceField(
        label="Files",
        choices=[
            (Gate.OPEN, "open: everybody who can read it"),
            (Gate.AUTO, "on request: everybody who asks"),
            (Gate.MANUAL, "gated: people whose request you accept"),
        ],
    )
    default_branch = forms.ChoiceField(label="Default branch")

    def __init__(self, *args: Any, branches: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = cast("forms.ChoiceField", self.fields["default_branch"])
        field.choices = [(name, name) for name in branches]


class MoveForm(forms.Form):
    """New owner and name."""

    namespace = forms.ChoiceField(label="Owner")
    name = forms.CharField(max_length=96)

    def __init__(self, *args: Any, namespaces: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = cast("forms.ChoiceField", self.fields["namespace"])
        field.choices = [(name, name) for name in namespaces]


@repository_page
@require_http_methods(["GET", "POST"])
def settings(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """All settings on one page; a POST submits its first form."""
    require(request.user, role=Role.WRITE, namespace=mlmodel.namespace)
    form = SettingsForm(
        request.POST or None,
        branches=_branches(mlmodel),
        initial={name: getattr(mlmodel, name) for name in SettingsForm.base_fields},
    )
    if request.method == "POST" and form.is_valid():
        return act(
            request,
            address(mlmodel, "settings"),
            lambda: mlmodel_update(actor=request.user, mlmodel=mlmodel, **form.cleaned_data),
            done="Saved.",
        )
    return _shown(request, mlmodel, form=form)


@repository_page
@require_POST
def move(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Change its name or owner; the old name redirects to the new one."""
    require(request.user, role=Role.WRITE, namespace=mlmodel.namespace)
    form = MoveForm(request.POST, namespaces=_namespaces(request))
    if form.is_valid():
        try:
            mlmodel_move(actor=request.user, mlmodel=mlmodel, **form.cleaned_data)
        except (Invalid, Conflict) as error:
            form.add_error("name", str(error))
            # The row still holds the refused name.
            mlmodel.refresh_from_db()
        else:
            messages.success(request, "Moved. The old name redirects here.")
            return redirect(address(mlmodel, "settings"))
    return _shown(request, mlmodel, move_form=form)


@repository_page
@require_POST
def delete(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Delete it, if its name was typed for confirmation."""
    require(request.user, role=Role.WRITE, namespace=mlmodel.namespace)
    if request.POST.get("confirm", "").strip() != mlmodel.full_name:
        return _shown(request, mlmodel, fault=f"Type {mlmodel.full_name} to delete it.")
    name, owner = mlmodel.full_name, mlmodel.namespace.name
    try:
        mlmodel_delete(actor=request.user, mlmodel=mlmodel, reason=request.POST.get("reason", ""))
    except Invalid as error:
        return _shown(request, mlmodel, fault=str(error))
    messages.success(request, f"{name} is deleted.")
    return redirect("namespace", namespace=owner)


def _shown(
    request: HttpRequest,
    mlmodel: MLModel,
    *,
    form: SettingsForm | None = None,
    move_form: MoveForm | None = None,
    fault: str = "",
) -> HttpResponseBase:
    context = frame(request, mlmodel, tab="settings")
    values = {name: getattr(mlmodel, name) for name in SettingsForm.base_fields}
    name = {"namespace": mlmodel.namespace.name, "name": mlmodel.name}
    context |= {
        "form": form or SettingsForm(branches=_branches(mlmodel), initial=values),
        "move_form": move_form or MoveForm(namespaces=_namespaces(request), initial=name),
        "fault": fault,
        "reason": request.POST.get("reason", ""),
        "usage": usage(mlmodel.namespace),
        "doi": panel(request.user, mlmodel),
        "requests": [
            (state.value, list(requests_of(request.user, mlmodel, state))) for state in RequestState
        ],
    }
    is_invalid = fault or any(bound and bound.errors for bound in (form, move_form))
    return render(request, "mlmodel/settings.html", context, status=400 if is_invalid else 200)


def _branches(mlmodel: MLModel) -> list[str]:
    return [ref.name for ref in refs_of(mlmodel) if ref.kind == RefKind.BRANCH]


def _namespaces(request: HttpRequest) -> list[str]:
    user = request.user
    rows = namespaces_of(user) if isinstance(user, User) else ()
    return [row.namespace.name for row in rows if row.role != Role.READ]
