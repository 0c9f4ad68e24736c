"""Authentication of devices by their tokens."""

from rest_framework import authentication
from rest_framework.request import Request

from hub.api.views import ApiView
from registry.errors import Unauthenticated
from registry.selectors.work.device import device_of_token
from registry.tables import Device


class DeviceAuthentication(authentication.BaseAuthentication):
    """``Authorization: Bearer hpd_...``: the token that a device got when it was enrolled.

    It identifies the machine and no person: it is not valid for other addresses of the API.
    """

    def authenticate(self, request: Request) -> tuple[Device, None] | None:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        return device_of_token(secret.strip()), None

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002
        return "Bearer"


class AgentView(ApiView):
    """Base of the views for agents of devices."""

    authentication_classes = [DeviceAuthentication]
    sign_in_for = frozenset({"GET", "HEAD", "POST", "PUT"})

    def require_sign_in(self, request: Request) -> None:
        device_of(request)


def device_of(request: Request) -> Device:
    """The device that sent a request. Raises ``Unauthenticated`` ``not_authenticated``."""
    # The framework declares another type; this authentication returns devices.
    device: object = request.user
    if not isinstance(device, Device):
        raise Unauthenticated(
            "not_authenticated",
            "This address is for devices.",
            "Send `Authorization: Bearer hpd_...`; `hpcfair-agent join` gets the token.",
        )
    return device
