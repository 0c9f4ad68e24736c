"""Secrets of jobs, such as a user's token for another server, encrypted by the hub's secret key."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings

from registry.errors import Invalid


def seal(secret: str) -> str:
    """``secret`` encrypted; empty for an empty one."""
    return _cipher().encrypt(secret.encode()).decode() if secret else ""


def unseal(sealed: str) -> str:
    """The secret of :func:`seal`. Raises ``Invalid`` ``import_refused`` if the hub's key has
    changed."""
    if not sealed:
        return ""
    try:
        return _cipher().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise Invalid(
            "import_refused",
            "The token of this job cannot be read: the hub's secret key was changed.",
            "Import the model again, with the token.",
        ) from None


def _cipher() -> Fernet:
    key = hashlib.sha256(b"hpcfair.job.secret\0" + settings.SECRET_KEY.encode()).digest()
    return Fernet(base64.urlsafe_b64encode(key))
