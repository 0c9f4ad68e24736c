"""Schemas and shapes of standards, kept in ``.validators/schemas/`` under the address they have.

Their owners let everybody read them and say nothing of passing them on, so that they are fetched
and not kept in git.
"""

import re
import urllib.request
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

from tests.validators.environments import VALIDATORS

_ROOT = VALIDATORS.root / "schemas"
_PARTS = re.compile(rb'<xs:(?:include|import)[^>]*schemaLocation="([^"]+)"')


def schema_at(url: str) -> Path:
    """A copy of the schema at ``url`` and of all that it includes. Skips where there is none."""
    try:
        return _copy(url)
    except OSError as error:
        pytest.skip(f"{url} cannot be had: {error}")


def _copy(url: str) -> Path:
    address = urlsplit(url)
    copy = _ROOT / address.netloc / address.path.lstrip("/")
    if not copy.exists():
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310
            data = answer.read()
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(data)
    for part in _PARTS.findall(copy.read_bytes()):
        _copy(urljoin(url, part.decode()))
    return copy
