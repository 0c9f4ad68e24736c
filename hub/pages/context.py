"""What every template knows."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest


def hub(_: HttpRequest) -> dict[str, Any]:
    """Name and outside address of this hub."""
    return {"hub_name": settings.HUB_NAME, "hub_url": settings.HUB_URL}
