"""Settings of the client: from the environment, then from the file that ``hpcfair login`` writes.

========================  ==============================================================
``HPCFAIR_URL``           address of the hub
``HPCFAIR_TOKEN``         access token
``HPCFAIR_CACHE``         folder of the cache
``HPCFAIR_CACHE_BUDGET``  size above which unused files leave the cache, such as ``50GB``
``HPCFAIR_SITE_CACHE``    folders of caches that are only read, separated by ``:``
``HPCFAIR_CONFIG``        folder of ``config.json``, written by ``hpcfair login``
``HPCFAIR_OFFLINE``       ``1``: use the cache only, never contact the hub
``HPCFAIR_DOI_RESOLVER``  resolver of DOIs; default https://doi.org
``HPCFAIR_SIGNED``        ``1``: refuse what the hub did not sign
``HPCFAIR_QUIET``         ``1``: no progress bars and no hints
``HF_ENDPOINT``           server of models named ``hf:org/name``; default https://huggingface.co
``HF_TOKEN``              token for that server; else the one that ``hf auth login`` stored
========================  ==============================================================

``config.json`` is ``{"url": <default hub>, "tokens": {<hub>: <token>}}``, readable by its owner
only. A token is sent only to the hub that it was stored for.
"""

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import platformdirs

from hpcfair.errors import BadConfig
from hpcfair.localfiles import local_files

DEFAULT_URL = "http://127.0.0.1:8000"
DOI_RESOLVER = "https://doi.org"
HF_ENDPOINT = "https://huggingface.co"
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"", "0", "false", "no", "off"}


@dataclass(frozen=True, slots=True)
class Config:
    """Settings of a client.

    Raises BadConfig for a ``url`` as of :func:`clean_url`.

    Attributes:
        url: Of the hub, with its scheme.
        site_caches: Folders of caches below the user's, which are only read.
        cache_budget: Bytes; ``None`` without a limit.
        doi: Address of the DOI resolver.
        signed: Whether a signature is required.
        hf_endpoint: Server of the models that are named ``hf:org/name``, with ``hf_token``.
        keys: File of the trusted keys of hubs; ``None``: ``keys.json`` beside ``config.json``.
        key_list: Signed list of the hub's keys that a model bundle carries, if the answers are
            those of a bundle; ``None``: the hub sends it.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    cache: Path = Path(platformdirs.user_cache_dir("hpcfair"))
    offline: bool = False
    doi: str = DOI_RESOLVER
    signed: bool = False
    keys: Path | None = None
    key_list: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    hf_endpoint: str = HF_ENDPOINT
    hf_token: str | None = field(default=None, repr=False)
    site_caches: tuple[Path, ...] = ()
    cache_budget: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", clean_url(self.url))

    @classmethod
    def read(
        cls,
        url: str | None = None,
        token: str | None = None,
        *,
        environment: Mapping[str, str] | None = None,
    ) -> "Config":
        """Arguments override the environment, which overrides ``config.json``.

        ``HPCFAIR_TOKEN`` belongs to the hub of the environment or the configuration, and is not
        sent to another one named in the code. Raises BadConfig if a variable or the file has an
        invalid value.
        """
        env = os.environ if environment is None else environment
        stored = _Stored.read(config_file(env))
        ours = clean_url(env.get("HPCFAIR_URL") or stored.url or DEFAULT_URL)
        chosen = clean_url(url) if url else ours
        if token is None and chosen == ours:
            token = env.get("HPCFAIR_TOKEN")
        return cls(
            url=chosen,
            token=clean_token(token or stored.tokens.get(chosen) or "") or None,
            cache=Path(env.get("HPCFAIR_CACHE") or platformdirs.user_cache_dir("hpcfair")),
            offline=_flag(env, "HPCFAIR_OFFLINE"),
            doi=clean_url(env.get("HPCFAIR_DOI_RESOLVER") or DOI_RESOLVER),
            signed=_flag(env, "HPCFAIR_SIGNED"),
            hf_endpoint=clean_url(env.get("HF_ENDPOINT") or HF_ENDPOINT),
            hf_token=clean_token(env.get("HF_TOKEN") or _stored_hf_token(env)) or None,
            site_caches=_folders(env, "HPCFAIR_SITE_CACHE"),
            cache_budget=_bytes(env, "HPCFAIR_CACHE_BUDGET"),
        )

    def for_server(self, server: str) -> "Config":
        """The settings for another server, with its token if one is known. A token is sent to the
        server that it was stored for only."""
        token = _Stored.read(config_file()).tokens.get(server)
        if server == self.url:
            token = self.token or token
        if server == self.hf_endpoint:
            token = self.hf_token or token
        return replace(self, url=server, token=token)


@dataclass(frozen=True, slots=True)
class _Stored:
    url: str = ""
    tokens: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "_Stored":
        try:
            data = json.loads(path.read_text("utf-8"))
            tokens = {str(hub): str(token) for hub, token in data.get("tokens", {}).items()}
            return cls(url=str(data.get("url", "")), tokens=tokens)
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError, AttributeError) as error:
            raise BadConfig(
                f"{path} cannot be read: {error}.", "Delete it and run `hpcfair login`."
            ) from error

    def write(self, path: Path) -> None:
        with local_files(path.parent, "HPCFAIR_CONFIG"):
            self._write(path)

    def _write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # mkstemp creates the file with mode 0600, which the rename preserves.
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".config-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"url": self.url, "tokens": self.tokens}, file, indent=2)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def config_file(environment: Mapping[str, str] | None = None) -> Path:
    """The file that ``hpcfair login`` writes."""
    env = os.environ if environment is None else environment
    folder = env.get("HPCFAIR_CONFIG") or platformdirs.user_config_dir("hpcfair")
    return Path(folder) / "config.json"


def keep_token(url: str, token: str) -> Path:
    """Store a token for a hub and make that hub the default. Returns the path of the file, which
    only its owner can read. Raises StorageFailed if it cannot be written."""
    path = config_file()
    stored = _Stored.read(path)
    hub = clean_url(url)
    _Stored(hub, {**stored.tokens, hub: token}).write(path)
    return path


def forget_token(url: str) -> bool:
    """Remove the stored token of a hub. Returns whether there was one."""
    path = config_file()
    stored = _Stored.read(path)
    hub = clean_url(url)
    if hub not in stored.tokens:
        return False
    rest = {other: token for other, token in stored.tokens.items() if other != hub}
    _Stored(stored.url, rest).write(path)
    return True


def clean_url(url: str) -> str:
    """Scheme, host and path without a trailing slash. Raises BadConfig if it is not an http(s) URL,
    or contains a password, query or fragment."""
    try:
        parts = urlsplit(url.strip())
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    # An invalid port or IPv6 address.
    except ValueError:
        is_address = False
    if not is_address:
        # What is before an @ may be a password.
        address = url.strip().rpartition("@")[2]
        raise BadConfig(
            f"{address!r} is not the address of a hub.", "Write https://hub.example.org."
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BadConfig(
            f"The hub's address must not carry a user, query or fragment: host {parts.hostname}.",
            "Give the token by `hpcfair login` or HPCFAIR_TOKEN.",
        )
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}"


def clean_token(token: str) -> str:
    """A token without white space around it. Raises BadConfig if it cannot be sent in a header; the
    message does not show it."""
    secret = token.strip()
    if any(not "!" <= character <= "~" for character in secret):
        raise BadConfig(
            "The token contains a space or a character that no token has.",
            "Copy it again: HPCFAIR_TOKEN, or `hpcfair login`.",
        )
    return secret


def _stored_hf_token(env: Mapping[str, str]) -> str:
    """The token that ``hf auth login`` stored, as huggingface_hub reads it; empty without one."""
    home = env.get("HF_HOME") or Path(env.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    path = Path(env.get("HF_TOKEN_PATH") or Path(home) / "token")
    try:
        return path.expanduser().read_text("utf-8")
    except (OSError, ValueError, RuntimeError):
        return ""


def _bytes(env: Mapping[str, str], name: str) -> int | None:
    text = env.get(name, "").strip().lower()
    if not text:
        return None
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)b?", text)
    if match is None:
        raise BadConfig(f"{name} is {text!r}.", "Write it like 50GB.")
    step = 1024 if match[3] else 1000
    return int(float(match[1]) * step ** " kmgt".index(match[2] or " "))


def _folders(env: Mapping[str, str], name: str) -> tuple[Path, ...]:
    folders = tuple(Path(part) for part in env.get(name, "").split(os.pathsep) if part.strip())
    relative = [str(folder) for folder in folders if not folder.is_absolute()]
    if relative:
        raise BadConfig(f"{name} names {relative[0]!r}.", "Write absolute paths.")
    return folders


def _flag(env: Mapping[str, str], name: str) -> bool:
    value = env.get(name, "").strip().lower()
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise BadConfig(f"{name} is {value!r}.", "Write 1 or 0.")
