"""WSGI entry point."""

import gc
import os
import sys
from collections.abc import Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from hub.database import limit_statements
from hub.garbage import collect_rarely

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hub.settings.production")

#: Seconds for which a thread may keep the interpreter while others wait. With Python's 5 ms, each
#: statement takes that much longer while another thread computes, and a transaction of ten
#: statements keeps its locks for 50 ms: the claims and ends of a fleet would wait for one another.
_SWITCH_S = 0.0005

collect_rarely()
sys.setswitchinterval(_SWITCH_S)
_django = get_wsgi_application()
limit_statements()
# Imports all views now: the first request would wait for them.
get_resolver().url_patterns  # noqa: B018
# What is imported stays: collections need not visit it, and processes share its memory.
gc.collect()
gc.freeze()


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Django's application, with the client's address, and without the charset of Content-Type.

    Only the proxy connects by a unix socket; the last address of ``X-Forwarded-For`` is then
    the client's. All text is UTF-8, but Django decodes even addresses by the charset: "hex" fails
    before any view, "ascii" when re-encoded.
    """
    if not environ.get("REMOTE_ADDR"):
        hops = environ.get("HTTP_X_FORWARDED_FOR", "")
        environ["REMOTE_ADDR"] = hops.rpartition(",")[2].strip()
    content_type = environ.get("CONTENT_TYPE", "")
    if "charset" in content_type.lower():
        parts = content_type.split(";")
        others = [part for part in parts if not part.strip().lower().startswith("charset")]
        environ["CONTENT_TYPE"] = ";".join(others)
    return _django(environ, start_response)
