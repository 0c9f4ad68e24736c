"""A person's profile and their organisations': what records say of them."""

from collections.abc import Callable

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from hub.pages.asker import signed_in
from hub.pages.errors import page
from registry.errors import Invalid
from registry.selectors.access import require
from registry.selectors.people.account import namespace_get, namespaces_of
from registry.services.people.person import organisation_update, person_update
from registry.states import NamespaceKind, Role
from registry.tables import Namespace, User


class ProfileForm(forms.Form):
    """What records say of a person."""

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
    """What records say of an organisation."""

    title = forms.CharField(max_length=200, required=False, label="Full name")
    ror = forms.CharField(
        max_length=100,
        required=False,
        label="ROR id",
        help_text="https://ror.org finds it by its name.",
    )


@page
@require_http_methods(["GET", "POST"])
def profile(request: HttpRequest) -> HttpResponseBase:
    """Your own, above those of the organisations you administer."""
    user = signed_in(request)
    if request.method != "POST":
        return _shown(request, user)
    form = ProfileForm(request.POST)
    if form.is_valid() and _taken(form, lambda: person_update(actor=user, **form.cleaned_data)):
        messages.success(request, "Saved.")
        return redirect("profile")
    return _shown(request, user, form=form)


@page
@require_POST
def organisation(request: HttpRequest, namespace: str) -> HttpResponseBase:
    """Change an organisation's."""
    user, found = signed_in(request), namespace_get(request.user, namespace)
    require(user, role=Role.ADMIN, namespace=found)
    form = OrganisationForm(request.POST, prefix=found.name)
    if form.is_valid() and _taken(
        form, lambda: organisation_update(actor=user, namespace=found, **form.cleaned_data)
    ):
        messages.success(request, "Saved.")
        return redirect("profile")
    return _shown(request, user, organisation=(found, form))


def _taken(form: forms.Form, deed: Callable[[], object]) -> bool:
    """Do what a form asks for; whether it was done. What is refused stands beside its field."""
    try:
        deed()
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
    known = {organisation[0].pk: organisation[1]} if organisation else {}
    context = {
        "tab": "profile",
        "form": form or ProfileForm(initial=own),
        "organisations": [
            (found, known.get(found.pk) or _organisation_form(found)) for found in _governed(user)
        ],
    }
    wrong = form is not None or organisation is not None
    return render(request, "account/profile.html", context, status=400 if wrong else 200)


def _organisation_form(namespace: Namespace) -> OrganisationForm:
    values = {name: getattr(namespace, name) for name in OrganisationForm.base_fields}
    # Several stand on one page, and their fields need names of their own.
    return OrganisationForm(initial=values, prefix=namespace.name)


def _governed(user: User) -> list[Namespace]:
    rows = namespaces_of(user).filter(role=Role.ADMIN, namespace__kind=NamespaceKind.ORGANISATION)
    return [row.namespace for row in rows]
