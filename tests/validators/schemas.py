"""Published schemas and shapes of standards, under the address that they have.

``published/manifest.toml`` lists every one that tests use, with its version and licence. Some are
in ``published/``; the others are downloaded to ``.validators/schemas/``, for the reason given.
"""

import re
import tomllib
import urllib.request
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

from tests.validators.environments import VALIDATORS

PUBLISHED = Path(__file__).parent / "published"
#: Address to what is recorded of a schema: ``version``, ``licence``, and either ``source`` and
#: ``sha256`` of the file in :data:`PUBLISHED` or the ``reason`` why it is not there.
MANIFEST: dict[str, dict[str, str]] = tomllib.loads((PUBLISHED / "manifest.toml").read_text())
_DOWNLOADS = VALIDATORS.root / "schemas"
_PARTS = re.compile(rb'<xs:(?:include|import)[^>]*schemaLocation="([^"]+)"')


def schema_at(url: str) -> Path:
    """A copy of the schema at ``url``, beside copies of all that it includes.

    A schema that is not in the repository is downloaded once; the test is skipped where that fails.

    Raises:
        KeyError: the manifest does not list ``url``.
    """
    schema = MANIFEST[url]
    if "sha256" in schema:
        return path_of(url)
    try:
        return _download(url)
    except OSError as error:
        pytest.skip(f"cannot download {url}: {error}. Not in the repository: {schema['reason']}")


def path_of(url: str, root: Path = PUBLISHED) -> Path:
    """The file below ``root`` for ``url``."""
    address = urlsplit(url)
    return root / address.netloc / address.path.lstrip("/")


def _download(url: str) -> Path:
    copy = path_of(url, _DOWNLOADS)
    if not copy.exists():
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310
            data = answer.read()
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(data)
    for part in _PARTS.findall(copy.read_bytes()):
        _download(urljoin(url, part.decode()))
    return copy
