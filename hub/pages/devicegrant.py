"""Device authorization (RFC 8628): a person lets a program act for them by typing its code."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hub.pages.views import page, signed_in
from registry.errors import NotFound
from registry.selectors.people.account import device_grant_get
from registry.services.people.devicegrant import device_grant_answer


@page
@require_http_methods(["GET", "POST"])
def device_grant(request: HttpRequest) -> HttpResponseBase:
    """The form for the code, and the person's answer.

    A code in the address only fills in the form: the receiver of such a link must still compare it
    with the code that their own program shows, and confirm.
    """
    user = signed_in(request)
    code, fault = request.POST.get("code") or request.GET.get("code", ""), ""
    if request.method == "POST":
        try:
            allow = request.POST.get("answer") == "allow"
            device_grant_answer(actor=user, grant=device_grant_get(code), allow=allow)
        except NotFound as error:
            fault = str(error)
        else:
            text = "The program is signed in as you." if allow else "The program was refused."
            messages.success(request, text)
            return redirect("tokens")
    context = {"code": code, "fault": fault}
    return render(request, "account/device.html", context, status=400 if fault else 200)
