"""The published schemas in the repository are those that their manifest describes."""

import hashlib
import urllib.request
from pathlib import Path
from urllib.error import URLError

import pytest

from tests.validators import schemas
from tests.validators.schemas import MANIFEST, PUBLISHED, path_of, schema_at

_KEPT = [url for url, one in MANIFEST.items() if "sha256" in one]
_DOWNLOADED = [url for url in MANIFEST if url not in _KEPT]


def test_the_folder_holds_what_the_manifest_lists() -> None:
    files = {path for path in PUBLISHED.rglob("*") if path.is_file()}
    assert files - {PUBLISHED / "manifest.toml"} == {path_of(url) for url in _KEPT}


@pytest.mark.parametrize("url", _KEPT)
def test_a_kept_schema_has_the_digest_of_its_source(url: str) -> None:
    assert hashlib.sha256(path_of(url).read_bytes()).hexdigest() == MANIFEST[url]["sha256"]
    assert MANIFEST[url].keys() == {"version", "licence", "source", "sha256"}


@pytest.mark.parametrize("url", _DOWNLOADED)
def test_the_manifest_says_why_a_schema_is_not_kept(url: str) -> None:
    assert MANIFEST[url].keys() == {"version", "licence", "reason"}


def test_only_schemas_that_are_not_kept_need_the_network(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def unreachable(url: str, timeout: float) -> None:
        raise URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", unreachable)
    monkeypatch.setattr(schemas, "_DOWNLOADS", tmp_path)
    assert all(schema_at(url).is_file() for url in _KEPT)
    for url in _DOWNLOADED:
        with pytest.raises(pytest.skip.Exception, match="no network") as skipped:
            schema_at(url)
        assert f"cannot download {url}" in str(skipped.value)
    with pytest.raises(KeyError):
        schema_at("https://example.org/unlisted.xsd")
