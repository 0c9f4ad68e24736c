"""Profiles of a person and of their organisations, for metadata records."""

from collections.abc import Callable

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from hub.pages.views import page, signed_in
from registry.errors import Invalid
from registry.selectors.access import require
from registry.selectors.people.account import namespace_get, namespaces_of
from registry.services.people.person import organisation_update, person_update
from registry.states import NamespaceKind, Role, Visibility
from registry.tables import Namespace, User


class ProfileForm(forms.Form):
    """Metadata of a person."""

    full_name = forms.CharField(max_length=200, required=False, label="Full name")
    orcid = forms.CharField(
        max_length=100,
        required=False,
        label="ORCID iD",
        help_text="Sixteen digits that are yours for life: https://orcid.org gives them for free.",
    )
    affiliation = forms.CharField(
        max_length=200, required=False, help_text="The organisation you work for."
    )
    affiliation_ror = forms.CharField(
        max_length=100,
        required=False,
        label="Its ROR id",
        help_text="https://ror.org finds it by its name.",
    )


class OrganisationForm(forms.Form):
    """Metadata and defaults of an organisation."""

    title = forms.CharField(max_length=200, required=False, label="Full name")
    ror = forms.CharField(
        max_length=100,
        required=False,
        label="ROR id",
        help_text="https://ror.org finds it by its name.",
    )
    default_visibility = forms.ChoiceField(
        choices=Visibility.choices,
        required=False,
        label="New models and data sets",
        help_text="Their visibility, where whoever creates them chooses none.",
    )


@page
@require_http_methods(["GET", "POST"])
def profile(request: HttpRequest) -> HttpResponseBase:
    """The person's profile, and those of the organisations they administer."""
    user = signed_in(request)
    if request.method != "POST":
        return _shown(request, user)
    form = ProfileForm(request.POST)
    if form.is_valid() and _is_saved(form, lambda: person_update(actor=user, **form.cleaned_data)):
        messages.success(request, "Saved.")
        return redirect("profile")
    return _shown(request, user, form=form)


@page
@require_POST
def organisation(request: HttpRequest, namespace: str) -> HttpResponseBase:
    """Change the profile of an organisation."""
    user, owner = signed_in(request), namespace_get(request.user, namespace)
    require(user, role=Role.ADMIN, namespace=owner)
    form = OrganisationForm(request.POST, prefix=owner.name)
    if form.is_valid() and _is_saved(
        form, lambda: organisation_update(actor=user, namespace=owner, **form.cleaned_data)
    ):
        messages.success(request, "Saved.")
        return redirect("profile")
    return _shown(request, user, organisation=(owner, form))


def _is_saved(form: forms.Form, action: Callable[[], object]) -> bool:
    """Run the action of a form; if it is refused, add the errors to the fields and return false."""
    try:
        action()
    except Invalid as error:
        for field, fault in error.fields.items():
            form.add_error(field, fault)
        if not error.fields:
            form.add_error(None, str(error))
        return False
    return True


def _shown(
    request: HttpRequest,
    user: User,
    *,
    form: ProfileForm | None = None,
    organisation: tuple[Namespace, OrganisationForm] | None = None,
) -> HttpResponseBase:
    own = {name: getattr(user, name) for name in ProfileForm.base_fields}
    bound = {organisation[0].pk: organisation[1]} if organisation else {}
    context = {
        "tab": "profile",
        "form": form or ProfileForm(initial=own),
        "organisations": [
            (owner, bound.get(owner.pk) or _organisation_form(owner)) for owner in _governed(user)
        ],
    }
    is_invalid = form is not None or organisation is not None
    return render(request, "account/profile.html", context, status=400 if is_invalid else 200)


def _organisation_form(namespace: Namespace) -> OrganisationForm:
    values = {name: getattr(namespace, name) for name in OrganisationForm.base_fields}
    # A page has several of these forms, whose fields need distinct names.
    return OrganisationForm(initial=values, prefix=namespace.name)


def _governed(user: User) -> list[Namespace]:
    rows = namespaces_of(user).filter(role=Role.ADMIN, namespace__kind=NamespaceKind.ORGANISATION)
    return [row.namespace for row in rows]
