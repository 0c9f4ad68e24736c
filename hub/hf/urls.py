"""Addresses of the protocol. No trailing slashes; ``kind`` is ``models`` or ``datasets``.

A revision may hold slashes (``refs/pr/1``, a branch ``team/idea``), which arrive escaped and are
handed on unescaped by WSGI: where a path follows it, :mod:`hub.hf.address` parts the two.
"""

from django.urls import URLPattern, re_path

from hub.hf import account
from hub.hf.views import wire

_REPO = r"(?P<kind>models|datasets)/(?P<namespace>[^/]+)/(?P<name>[^/]+)"

#: Below ``/api/``.
api = [
    re_path(r"^whoami-v2$", wire(get=account.whoami)),
]

#: At the top: where files, git and large file storage have their addresses.
top: list[URLPattern] = []
