"""Letting a program act for the person at the browser: they type the code it shows."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hub.pages.asker import signed_in
from hub.pages.errors import page
from registry.errors import NotFound
from registry.selectors.people.account import device_grant_get
from registry.services.people.devicegrant import device_grant_answer


@page
@require_http_methods(["GET", "POST"])
def device(request: HttpRequest) -> HttpResponseBase:
    """Ask for the code, ask whether they mean it, and do as they say.

    The code in an address only fills the form in: whoever is sent such a link must still compare
    it with what their own program shows, and say yes.
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
