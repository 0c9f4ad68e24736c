"""Organisations: creation, members and their roles, transfer, deletion."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from hub.pages.views import act, page, signed_in
from registry.errors import Invalid, NotFound, RegistryError
from registry.selectors.access import may, require
from registry.selectors.people.account import members_of, namespace_get, namespaces_of, user_get
from registry.services.people.account import member_remove, member_set, organisation_create
from registry.services.people.organisation import organisation_delete, organisation_transfer
from registry.states import NamespaceKind, Role
from registry.tables import Namespace, User

#: Members on the page; the API lists all.
_MEMBERS = 500
#: Role to what its holders may do.
ROLES = {
    Role.READ: "sees and loads what is private",
    Role.WRITE: "also publishes, changes and deletes",
    Role.ADMIN: "also manages members",
}
#: Value of the form of a member that ends the membership.
REMOVE = "remove"


class NewOrganisationForm(forms.Form):
    """Name and title of a new organisation."""

    name = forms.CharField(
        max_length=96, help_text="The first part of its models' names: letters, digits, - . _"
    )
    title = forms.CharField(max_length=200, required=False, label="Full name")


@page
@require_http_methods(["GET", "POST"])
def organisations(request: HttpRequest) -> HttpResponseBase:
    """The organisations of the person; a POST creates one."""
    user = signed_in(request)
    form = NewOrganisationForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            created = organisation_create(actor=user, **form.cleaned_data)
        except RegistryError as error:
            form.add_error("title" if "title" in error.fields else "name", str(error))
        else:
            messages.success(request, "The organisation is created. Add its members.")
            return redirect("members", created.name)
    rows = namespaces_of(user).filter(namespace__kind=NamespaceKind.ORGANISATION)
    context = {"memberships": rows, "form": form, "tab": "organisations"}
    return render(
        request, "account/organisations.html", context, status=400 if form.is_bound else 200
    )


@page
def members(request: HttpRequest, namespace: str) -> HttpResponseBase:
    """Members of an organisation with their roles; its admins can change them."""
    user, owner = signed_in(request), _organisation(request, namespace)
    rows = list(members_of(user, owner)[: _MEMBERS + 1])
    context = {
        "namespace": owner,
        "members": rows[:_MEMBERS],
        "has_more": len(rows) > _MEMBERS,
        "is_admin": may(user, role=Role.ADMIN, namespace=owner),
        "roles": [(role.value, about) for role, about in ROLES.items()],
        "remove": REMOVE,
        "has_models": owner.mlmodels.exists(),
        "tab": "organisations",
    }
    return render(request, "account/members.html", context)


@page
@require_POST
def member(request: HttpRequest, namespace: str) -> HttpResponseBase:
    """Add a member, change a role, or end a membership."""
    user, owner = signed_in(request), _organisation(request, namespace)
    name, role = request.POST.get("username", ""), request.POST.get("role", "")

    def change() -> None:
        if role == REMOVE:
            member_remove(actor=user, namespace=owner, user=_person(name))
        else:
            member_set(actor=user, namespace=owner, user=_person(name), role=_role(role))

    done = "is no longer a member" if role == REMOVE else f"has the role {role}"
    # Who is no longer a member may not see who is.
    is_own_end = role == REMOVE and name == user.username
    back = reverse("organisations") if is_own_end else reverse("members", args=[owner.name])
    return act(request, back, change, done=f"{name} {done}.")


@page
@require_POST
def leave(request: HttpRequest, namespace: str) -> HttpResponseBase:
    """End the person's own membership."""
    user, owner = signed_in(request), _organisation(request, namespace)
    return act(
        request,
        reverse("organisations"),
        lambda: member_remove(actor=user, namespace=owner, user=user),
        done=f"You left {owner.name}.",
    )


@page
@require_POST
def transfer(request: HttpRequest, namespace: str) -> HttpResponseBase:
    """Make somebody else the admin in place of the person."""
    user, owner = signed_in(request), _organisation(request, namespace)
    name = request.POST.get("username", "")
    return act(
        request,
        reverse("members", args=[owner.name]),
        lambda: organisation_transfer(actor=user, namespace=owner, user=_person(name)),
        done=f"{name} is now an admin, and you have the role write.",
    )


@page
@require_POST
def delete(request: HttpRequest, namespace: str) -> HttpResponseBase:
    """Delete an organisation, whose name was typed as a confirmation."""
    user, owner = signed_in(request), _organisation(request, namespace)
    require(user, role=Role.ADMIN, namespace=owner)
    if request.POST.get("confirm", "").strip() != owner.name:
        messages.error(request, f"Type {owner.name} to delete it.")
        return redirect("members", owner.name)
    try:
        organisation_delete(actor=user, namespace=owner)
    except RegistryError as error:
        messages.error(request, str(error))
        return redirect("members", owner.name)
    messages.success(request, f"{owner.name} is deleted.")
    return redirect("organisations")


def _organisation(request: HttpRequest, name: str) -> Namespace:
    """The organisation ``name``. Raises ``NotFound``: ``namespace_not_found``, also of a person."""
    namespace = namespace_get(request.user, name)
    if namespace.kind != NamespaceKind.ORGANISATION:
        raise NotFound("namespace_not_found", f"{namespace.name} is a person.")
    return namespace


def _person(name: str) -> User:
    """The person ``name``; somebody who does not exist is an error of the form."""
    try:
        return user_get(name.strip())
    except NotFound as error:
        raise Invalid("invalid_request", str(error), "Compare the spelling.") from None


def _role(name: str) -> Role:
    try:
        return Role(name)
    except ValueError:
        raise Invalid("invalid_request", f"{name[:50]!r} is no role.", "Choose one.") from None
