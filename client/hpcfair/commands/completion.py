"""Completes names of models in a shell: from bundles, the cache and the hub.

A shell waits for completions and shows their errors amid the command, so that a hub that does not
answer at once, or not as expected, adds nothing.
"""

from collections.abc import Iterator
from pathlib import Path

import httpx

from hpcfair.cache import Cache
from hpcfair.config import Config
from hpcfair.connections import open_connections
from hpcfair.errors import HpcfairError
from hpcfair.modelbundle.manifest import SUFFIX
from hpcfair.upkeep import entries

_PATIENCE_S = 1.0
_MOST = 50


def complete_name(incomplete: str) -> list[str]:
    """Paths of bundles and names of models that begin with what was typed."""
    try:
        config = Config.read()
        names = {*_bundles(incomplete), *_cached(config), *_at_hub(config, incomplete)}
    except (HpcfairError, OSError):
        return []
    return sorted(name for name in names if name.startswith(incomplete))


def _bundles(incomplete: str) -> Iterator[str]:
    folder = incomplete.rpartition("/")[0]
    for path in Path(folder or ".").glob(f"*{SUFFIX}"):
        yield f"{folder}/{path.name}" if folder else path.name


def _cached(config: Config) -> Iterator[str]:
    for entry in entries(Cache(config.cache)):
        # Other files of the cache are called "tests of ...".
        if " " not in entry.what and entry.what.count("/") == 1:
            yield entry.what


def _at_hub(config: Config, incomplete: str) -> list[str]:
    """Names on the hub: of a namespace if one was typed, else of a search."""
    if config.offline:
        return []
    namespace, slash, _ = incomplete.partition("/")
    query = {"limit": str(_MOST), **({"by": namespace} if slash else {"q": incomplete})}
    headers = {"Authorization": f"Bearer {config.token}"} if config.token else {}
    url = f"{config.url}/api/v1/models"
    try:
        with open_connections(None) as http:
            answer = http.get(url, params=query, headers=headers, timeout=_PATIENCE_S)
            return [str(item["name"]) for item in answer.raise_for_status().json()["items"]]
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return []
