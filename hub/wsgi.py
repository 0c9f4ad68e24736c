"""WSGI entry point."""

import os
from collections.abc import Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hub.settings.production")

_django = get_wsgi_application()


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Django's application, without the charset of the request's Content-Type: all is UTF-8.

    Django decodes even addresses by it: "hex" fails before any view, "ascii" when re-encoded.
    """
    content_type = environ.get("CONTENT_TYPE", "")
    if "charset" in content_type.lower():
        parts = content_type.split(";")
        others = [part for part in parts if not part.strip().lower().startswith("charset")]
        environ["CONTENT_TYPE"] = ";".join(others)
    return _django(environ, start_response)
