"""Passwords: a link by mail sets a new one, or its owner changes it.

No answer tells whether an address has an account, neither by its text nor by its time: messages are
sent in the background.
"""

import hashlib
import math
from collections.abc import Iterator
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.views import (
    PasswordResetConfirmView,
    PasswordResetDoneView,
    PasswordResetView,
)
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from hub.mail import in_background
from hub.pages.views import page, signed_in
from hub.throttling.bucket import take
from hub.throttling.client import network_of
from registry.errors import Invalid
from registry.selectors.people.account import users_by_email
from registry.services.people.account import credentials_set
from registry.services.people.signin import SignIn, signin_begin, signin_succeed
from registry.tables import User

#: Messages to one address in an hour, whoever requests them.
MESSAGES = 3
_HOUR_S = 3600


class ResetForm(PasswordResetForm):
    """The address to send a link to."""

    def get_users(self, email: str) -> Iterator[User]:
        """The people whose password the link may set; each gets a message of their own."""
        return (user for user in users_by_email(email) if user.has_usable_password())

    def send_mail(self, *args: Any, **kwargs: Any) -> None:
        """Write and send a message in the background. Errors are logged."""
        in_background(super().send_mail, *args, **kwargs)


class NewPasswordForm(forms.Form):
    """A new password for ``user``."""

    password = forms.CharField(
        label="New password",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        strip=False,
        max_length=1000,
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def save(self) -> User:
        """Set it. Raises ``Invalid`` ``invalid_request``."""
        credentials_set(actor=self.user, password=self.cleaned_data["password"])
        return self.user


class CredentialsForm(forms.Form):
    """E-mail address and password of an account, protected by the present password."""

    email = forms.EmailField(
        required=False,
        label="E-mail",
        help_text="Where a link for a new password is sent. It is not shown to others.",
    )
    new_password = forms.CharField(
        label="New password",
        help_text="Leave it empty to keep the present one.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        required=False,
        strip=False,
        max_length=1000,
    )
    password = forms.CharField(
        label="Present password",
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        strip=False,
        max_length=1000,
    )


class Reset(PasswordResetView):
    """Requests a link for a new password."""

    template_name = "account/reset.html"
    email_template_name = "account/reset_mail.txt"
    subject_template_name = "account/reset_subject.txt"
    form_class = ResetForm
    success_url = reverse_lazy("reset-sent")

    def form_valid(self, form: Any) -> HttpResponse:
        """Send the message, unless the address got several already; the answer is the same."""
        # Links name the hub's own address, not the one that the request was sent to.
        self.extra_email_context = {"hub_name": settings.HUB_NAME, "hub_url": settings.HUB_URL}
        if _may_send(form.cleaned_data["email"]):
            return super().form_valid(form)
        return redirect(self.get_success_url())


class ResetSent(PasswordResetDoneView):
    """Says that a message is under way, if the address has an account."""

    template_name = "account/reset_sent.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """With whether the hub has a mail server."""
        return super().get_context_data(**kwargs) | {"has_mail_server": bool(settings.EMAIL_HOST)}


class ResetConfirm(PasswordResetConfirmView):
    """Sets a new password after a link was followed."""

    template_name = "account/reset_confirm.html"
    form_class = NewPasswordForm  # type: ignore[assignment]  # Django's has two equal fields
    success_url = reverse_lazy("login")

    def form_valid(self, form: Any) -> HttpResponse:
        """Set it and end all sessions; a weak password is refused beside its field."""
        try:
            response = super().form_valid(form)
        except Invalid as error:
            form.add_error("password", str(error))
            return self.render_to_response(self.get_context_data(form=form), status=400)
        # Who forgot it has tried others: the link proves that these were no guesses.
        signin_succeed(SignIn(form.user.username, network_of(self.request)))
        messages.success(self.request, "The password is set. Sign in with it.")
        return response


@sensitive_post_parameters()
@page
@require_http_methods(["GET", "POST"])
def password(request: HttpRequest) -> HttpResponseBase:
    """Change the e-mail address or the password."""
    user, status = signed_in(request), 200
    form = CredentialsForm(request.POST or None, initial={"email": user.email})
    if request.method == "POST":
        status = _change(request, user, form) if form.is_valid() else 400
        if status == 200:
            messages.success(request, "Saved.")
            return redirect("password")
    context = {"form": form, "tab": "password"}
    return render(request, "account/password.html", context, status=status)


def _change(request: HttpRequest, user: User, form: CredentialsForm) -> int:
    """Save the values of a form; the status of the answer, 200 if they are saved."""
    values = form.cleaned_data
    # As at signing in: a stolen session is no licence to guess the password.
    attempt = SignIn(user.username, network_of(request))
    wait_s = math.ceil(signin_begin(attempt))
    if wait_s:
        form.add_error(None, f"There were too many wrong passwords. Try again in {wait_s} s.")
        return 429
    if not user.check_password(values["password"]):
        form.add_error("password", "This is not your present password.")
        return 400
    signin_succeed(attempt)
    try:
        credentials_set(actor=user, email=values["email"], password=values["new_password"] or None)
    except Invalid as error:
        for field, fault in error.fields.items():
            form.add_error("new_password" if field == "password" else field, fault)
        return 400
    update_session_auth_hash(request, user)
    return 200


def _may_send(address: str) -> bool:
    """Whether one more message may go to an address, so that nobody's mailbox can be filled."""
    if not settings.THROTTLE:
        return True
    key = hashlib.sha256(address.lower().encode()).hexdigest()
    return take(f"reset-to:{key}", quota=MESSAGES, window_s=_HOUR_S).allowed
