"""WSGI entry point."""

import os
from collections.abc import Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hub.settings.production")

_django = get_wsgi_application()


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Django's, for which everything is UTF-8.

    Django reads even addresses in the charset that a request's Content-Type names: with "hex" it
    fails before any view could answer, with "ascii" wherever an address is written anew.
    """
    given = environ.get("CONTENT_TYPE", "")
    if "charset" in given.lower():
        parts = given.split(";")
        kept = [part for part in parts if not part.strip().lower().startswith("charset")]
        environ["CONTENT_TYPE"] = ";".join(kept)
    return _django(environ, start_response)
