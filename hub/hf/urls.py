"""Addresses of the protocol. No trailing slashes; ``kind`` is ``models`` or ``datasets``.

A revision may hold slashes (``refs/pr/1``, a branch ``team/idea``), which arrive escaped and are
handed on unescaped by WSGI: where a path follows it, :mod:`hub.hf.address` parts the two.
"""

from django.urls import URLPattern, re_path

from hub.hf import account, repository
from hub.hf.views import repository_view, wire

_REPO = r"(?P<kind>models|datasets)/(?P<namespace>[^/]+)/(?P<name>[^/]+)"

#: Below ``/api/``.
api = [
    re_path(r"^whoami-v2$", wire(get=account.whoami)),
    re_path(r"^repos/create$", wire(post=repository.create)),
    re_path(r"^repos/delete$", wire(delete=repository.remove)),
    re_path(r"^repos/move$", wire(post=repository.move)),
    re_path(rf"^{_REPO}/settings$", wire(put=repository_view(repository.change))),
    re_path(rf"^{_REPO}/auth-check$", wire(get=repository_view(repository.check_read))),
    re_path(rf"^{_REPO}/auth-check/write$", wire(get=repository_view(repository.check_write))),
]

#: At the top: where files, git and large file storage have their addresses.
top: list[URLPattern] = []
