"""What strangers send: addresses filled with anything, and bodies and headers nobody would make."""

import json
import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern
from hypothesis import strategies as st

from tests.hub.hf.odd import HEADERS, ODD_TEXT, QUERY, QUERY_VALUES, RAW, SEGMENTS

#: The value of each part of an address that is likely to name something in the scene.
KNOWN: dict[str, tuple[str, ...]] = {
    "kind": ("models", "datasets"),
    "version": ("v1", "v2"),
    "namespace": ("lab",),
    "name": ("galaxy-cnn", "secret", "old-name"),
    "rest": ("main", "main/README.md", "v1", "refs/pr/1", "refs/heads/main/model.onnx"),
    "rev": ("main", "refs/pr/1", "v1", "refs/heads/main"),
    "place": ("main", "main/README.md", "refs/pr/1/README.md"),
    "state": ("pending", "accepted"),
    "num": ("1", "2"),
    "number": ("1",),
    "epoch": ("1",),
    "digest": ("ab" * 32,),
    "oid": ("0" * 40,),
    "slug": ("none",),
    "identifier": ("ab" * 32,),
    "sequence": ("0", "1"),
    "username": ("charlie",),
    "record_id": ("hpcfair:1",),
    "uidb64": ("MQ",),
    "token": ("set-password", "0-0"),
    **dict.fromkeys(("uuid", "delivery", "webhook_id", "delivery_id", "comment_id"), ("uuid",)),
}
LEAVES = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, -1, 1.5, 2**31, 2**63, 2**64, -(2**63) - 1, 10**400, float("nan")])
    | st.sampled_from(ODD_TEXT)
)
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["path", "type", "name", "", "\0"]), inner, max_size=2)
    ),
    max_leaves=4,
)
_FILE = {"path": "a.bin", "size": 3, "sample": "AAAA", "oid": "ab" * 32}
#: Members that bodies of some address have, with values it takes.
MEMBERS: dict[str, Any] = {
    "name": "lab/new",
    "type": "model",
    "organization": "lab",
    "private": True,
    "visibility": "private",
    "gated": "auto",
    "fromRepo": "lab/secret",
    "toRepo": "lab/moved",
    "repository": "lab/copy",
    "content": "---\nlicense: mit\n---\n",
    "message": "m",
    "files": [_FILE],
    "gitIgnore": "*.tmp",
    "paths": ["README.md"],
    "expand": True,
    "startingPoint": "main",
    "tag": "v9",
    "deletions": {"sha": ["ab" * 32]},
    "user": "bob",
    "status": "accepted",
    "requestId": "x",
    "rejectionReason": "no",
    "url": "https://example.org/hook",
    "watched": [{"type": "org", "name": "lab"}],
    "domains": ["repo"],
    "secret": "s",
    "title": "t",
    "description": "d",
    "comment": "c",
    "pullRequest": True,
    "operation": "upload",
    "objects": [_FILE],
    "hash_algo": "sha256",
    "transfers": ["basic"],
    "parts": [{"partNumber": 1, "etag": "x"}],
    "oid": "ab" * 32,
    "size": 3,
}
_LINES: dict[str, Any] = {
    "header": {"summary": "s", "description": "", "parentCommit": "0" * 40},
    "file": {"path": "a.txt", "content": "YQ==", "encoding": "base64"},
    "lfsFile": {"path": "b.bin", "algo": "sha256", "oid": "ab" * 32, "size": 3},
    "copyFile": {"path": "c", "srcPath": "README.md", "srcRevision": "main"},
    "deletedFolder": {"path": "d/"},
}

# No part of an address holds a parenthesis in its rule.
_GROUP, _OPTIONAL = re.compile(r"\(\?P<(\w+)>[^)]*\)"), re.compile(r"\(\?:[^)]*\)\?")
_CHOICE, _CONVERTER = re.compile(r"\(\?:([^|)]*)[^)]*\)"), re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True)
class Route:
    """An address, its parts in braces."""

    template: str

    @property
    def parts(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.template)

    def filled(self, known: dict[str, tuple[str, ...]]) -> str:
        """The address of something in the scene."""
        return self.template.format(**{part: (KNOWN | known)[part][0] for part in self.parts})


def routes_of(patterns: Iterable[Any], prefix: str = "/") -> list[Route]:
    """The routes of a module's ``urlpatterns``, each once."""
    found = (prefix + _template(pattern) for pattern in patterns if isinstance(pattern, URLPattern))
    return [Route(template) for template in dict.fromkeys(found)]


def _template(pattern: URLPattern) -> str:
    rule = str(pattern.pattern)
    if "(?P<" not in rule and "<" in rule:
        return _CONVERTER.sub(r"{\1}", rule)
    rule = _OPTIONAL.sub("", _GROUP.sub(r"{\1}", rule))
    return _CHOICE.sub(r"\1", rule).strip("^$").replace("\\", "")


def addresses(route: Route, known: dict[str, tuple[str, ...]]) -> st.SearchStrategy[str]:
    """The route's address, parts of it odd now and then, with or without parameters."""
    good = {part: st.sampled_from((KNOWN | known).get(part, ("x",))) for part in route.parts}
    odd = {part: st.one_of(*[value] * 5, st.sampled_from(SEGMENTS)) for part, value in good.items()}
    filled = st.fixed_dictionaries(odd).map(lambda parts: route.template.format(**parts))
    pair = st.tuples(st.sampled_from(QUERY), st.sampled_from(QUERY_VALUES)).map("=".join)
    queries = st.lists(pair, max_size=4).map(lambda pairs: f"?{'&'.join(pairs)}" if pairs else "")
    return st.builds(str.__add__, filled, queries)


def headers() -> st.SearchStrategy[dict[str, str]]:
    """A few headers, as the environment of a WSGI application has them."""
    one = st.sampled_from(sorted(HEADERS)).flatmap(
        lambda name: st.tuples(st.just(name), st.sampled_from(HEADERS[name]))
    )
    return st.lists(one, max_size=2).map(
        lambda pairs: {_environ(name): value for name, value in pairs}
    )


def bodies() -> st.SearchStrategy[bytes]:
    """JSON of members that some view reads, lines of a commit, and what is neither."""
    return st.one_of(
        _members(MEMBERS).map(_dumped),
        _members(MEMBERS).map(_dumped),
        _commits(),
        st.sampled_from(RAW),
    )


def _commits() -> st.SearchStrategy[bytes]:
    def line(key: str) -> st.SearchStrategy[bytes]:
        value = _members(_LINES[key]) | JSON
        return value.map(lambda value: _dumped({"key": key, "value": value}))

    more = st.lists(st.sampled_from(sorted(_LINES)).flatmap(line) | JSON.map(_dumped), max_size=3)
    return st.builds(lambda head, tail: b"\n".join([head, *tail]), line("header"), more)


def _members(given: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """``given``, some of it missing or replaced. Drawn at once: to draw each member takes long."""
    changed = st.dictionaries(
        st.sampled_from(sorted(given)),
        JSON | st.sampled_from([_Absent, {}, [{}], [None], [[]]]),
        max_size=4,
    )
    inner = [
        key
        for key, value in given.items()
        if isinstance(value, list) and isinstance(value[0], dict)
    ]
    deeper = (
        st.just({})
        if not inner
        else st.dictionaries(st.sampled_from(inner), _items(given), max_size=1)
    )
    return st.builds(
        lambda one, two: {k: v for k, v in (given | one | two).items() if v is not _Absent},
        changed,
        deeper,
    )


class _Absent:
    """In place of what is to be missing."""


def _items(given: dict[str, Any]) -> st.SearchStrategy[list[Any]]:
    keys = sorted(
        {
            key
            for value in given.values()
            if isinstance(value, list)
            for item in value
            if isinstance(item, dict)
            for key in item
        }
    )
    item = st.dictionaries(st.sampled_from(keys), JSON, max_size=3)
    whole = {
        key: good
        for value in given.values()
        if isinstance(value, list)
        for one in value
        if isinstance(one, dict)
        for key, good in one.items()
    }
    return st.lists(item.map(lambda odd: whole | odd), max_size=2)


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


def _environ(name: str) -> str:
    spelled = name.upper().replace("-", "_")
    return spelled if spelled == "CONTENT_LENGTH" else f"HTTP_{spelled}"


def some_uuid() -> str:
    """One that names nothing."""
    return str(uuid.UUID(int=7))
