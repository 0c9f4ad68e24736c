"""Outgoing mail: sent in the background; without a mail server, written to a folder."""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ParamSpec

from django.conf import settings
from django.core.mail.backends.filebased import EmailBackend

P = ParamSpec("P")

_log = logging.getLogger(__name__)
# Threads start with the first message, in each web process.
_sender = ThreadPoolExecutor(max_workers=2, thread_name_prefix="mail")


class FolderBackend(EmailBackend):
    """Writes each message to a file of ``EMAIL_FILE_PATH``, which only its owner can read."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Links for a new password are as good as the password.
        Path(settings.EMAIL_FILE_PATH).mkdir(mode=0o700, parents=True, exist_ok=True)
        super().__init__(*args, **kwargs)

    def write_message(self, message: Any) -> None:
        """Append a message to the file, and tell the operator of it."""
        super().write_message(message)
        file = self._get_filename()  # type: ignore[attr-defined]  # not in the stubs
        _log.warning("without a mail server, a message was written to %s", file)


def in_background(send: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
    """Call ``send`` in another thread, so that a response does not wait for the mail server.

    It must handle its errors itself, and not use the database.
    """
    _sender.submit(send, *args, **kwargs)
