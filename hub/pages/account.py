"""Accounts: signing in and up, namespaces, tokens."""

import math
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth import login, views
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from hub.pages.browsers import browser_of, remember
from hub.pages.cards import ANY_TOLERANCE, cards_of
from hub.pages.views import listed, page, signed_in
from hub.throttling.client import network_of
from registry.errors import RegistryError
from registry.selectors.access import may
from registry.selectors.people.account import members_of, namespace_get, tokens_of, user_find
from registry.selectors.repository.dataset import datasets_matching
from registry.selectors.repository.gate import requests_by
from registry.selectors.search.catalogue import catalogue_search
from registry.selectors.storage.quota import allowances, usage
from registry.services.people.account import user_create
from registry.services.people.signin import SignIn, signin_begin, signin_succeed
from registry.services.people.token import token_issue, token_revoke
from registry.states import NamespaceKind, Role, Scope

#: Data sets on the page of a namespace.
_DATASETS = 30


class Login(views.LoginView):
    """Signs in by user name and password; guesses must wait."""

    template_name = "account/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Check the password, unless there were too many wrong ones."""
        attempt = self._attempt()
        wait_s = math.ceil(signin_begin(attempt))
        if not wait_s:
            return super().post(request, *args, **kwargs)
        form = self.get_form_class()(request)
        context = self.get_context_data(form=form, wait_s=wait_s)
        response = render(request, self.template_name, context, status=429)
        response.headers["Retry-After"] = str(wait_s)
        return response

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Sign in; this browser is recognized the next time."""
        attempt, user = self._attempt(), form.get_user()
        response = super().form_valid(form)
        signin_succeed(attempt)
        remember(self.request, response, user)
        return response

    def _attempt(self) -> SignIn:
        username = self.request.POST.get("username", "")[:254]
        return SignIn(username, network_of(self.request), browser_of(self.request, username))


class Logout(views.LogoutView):
    """Signs out, by POST only: a link cannot do it."""


class SignUpForm(forms.Form):
    """A new account."""

    username = forms.CharField(
        max_length=96, help_text="Also the first part of your models' names: letters, digits, - . _"
    )
    full_name = forms.CharField(max_length=200, required=False, label="Full name")
    email = forms.EmailField(required=False, label="E-mail")
    password = forms.CharField(widget=forms.PasswordInput, strip=False, max_length=1000)


class TokenForm(forms.Form):
    """A new token."""

    name = forms.CharField(max_length=100, help_text="Where you will use it: laptop, cluster, CI")
    scope = forms.ChoiceField(
        choices=[
            (Scope.READ, "read: search and load"),
            (Scope.WRITE, "write: also publish and tune"),
            (Scope.ADMIN, "admin: also change settings and members"),
        ],
        initial=Scope.WRITE,
    )


@page
@require_http_methods(["GET", "POST"])
def signup(request: HttpRequest) -> HttpResponseBase:
    """Create an account and sign in."""
    form = SignUpForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            user = user_create(**form.cleaned_data)
        except RegistryError as error:
            # The account's services check the password against all names of the person.
            faults = error.fields or {"username": str(error)}
            for name in faults:
                form.add_error(name if name in form.fields else None, str(error))
        else:
            login(request, user)
            return redirect("tokens")
    status = 400 if form.is_bound else 200
    return render(request, "account/signup.html", {"form": form}, status=status)


@page
def namespace(request: HttpRequest, namespace: str) -> HttpResponseBase:
    """Page of a person or an organisation: models, data sets, members, storage."""
    owner = namespace_get(request.user, namespace)
    is_member = may(request.user, role=Role.READ, namespace=owner)
    results = listed(
        lambda: catalogue_search(
            request.user,
            namespace=owner.name,
            sort="updated",
            tolerance=str(ANY_TOLERANCE),
            cursor=request.GET.get("cursor") or None,
            with_counts=False,
        )
    )
    context = {
        "namespace": owner,
        "person": user_find(owner.name) if owner.kind == NamespaceKind.USER else None,
        "members": members_of(request.user, owner) if is_member else None,
        "results": results,
        "cards": cards_of(request, results) if results else [],
        "datasets": datasets_matching(request.user, namespace=owner).order_by("-id")[:_DATASETS],
        "usage": usage(owner),
        "allowances": allowances(owner) if is_member else (),
        "is_member": is_member,
    }
    return render(request, "account/namespace.html", context)


@page
def access(request: HttpRequest) -> HttpResponseBase:
    """The person's requests for gated files."""
    context = {"requests": requests_by(signed_in(request)), "tab": "access"}
    return render(request, "account/access.html", context)


@page
@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponseBase:
    """The person's tokens; the secret of a new token is shown once, in this response."""
    user = signed_in(request)
    form = TokenForm(request.POST or None)
    secret = ""
    if request.method == "POST" and form.is_valid():
        _, secret = token_issue(
            actor=user, name=form.cleaned_data["name"], scope=Scope(form.cleaned_data["scope"])
        )
        form = TokenForm()
    context = {"tokens": tokens_of(user), "form": form, "secret": secret, "tab": "tokens"}
    answer: HttpResponse = render(request, "account/tokens.html", context)
    # The secret must not be stored by a cache or the browser's history.
    answer["Cache-Control"] = "no-store"
    return answer


@page
@require_POST
def revoke(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """Revoke a token."""
    token_revoke(actor=signed_in(request), token_uuid=uuid)
    messages.success(request, "The token is revoked and no longer valid.")
    return redirect("tokens")
