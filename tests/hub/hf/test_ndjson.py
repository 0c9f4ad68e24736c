"""The lines of a commit's body, from people we do not trust."""

import base64
import io
import json
from typing import Any

import pytest
from django.http import HttpRequest, UnreadablePostError
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from hub.hf import ndjson
from hub.hf.errors import BadRequest, answer
from hub.hf.ndjson import MAX_LINE_BYTES, MAX_REST_BYTES, Base64, CommitLine, lines_of
from registry.errors import TooLarge

KEYS = ["header", "file", "lfsFile", "deletedFile", "copyFile", "other"]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
field_names = st.sampled_from(["path", "content", "encoding", "oid", "size", "summary"])
lines = st.fixed_dictionaries(
    {},
    optional={
        "key": st.sampled_from(KEYS) | json_values,
        "value": st.dictionaries(field_names, json_values) | json_values,
        "content": json_values,
    },
)


def posted(body: bytes) -> HttpRequest:
    """A request with that body."""
    return RequestFactory().post("/", body, content_type="application/x-ndjson")


def line(**value: Any) -> bytes:
    """The line of a file."""
    return json.dumps({"key": "file", "value": value}).encode()


def read(content: Base64 | None, size: int) -> bytes:
    """All of it, so many bytes at a time."""
    assert content is not None
    return b"".join(iter(lambda: content.read(size), b""))


@given(
    st.lists(st.binary(max_size=200), max_size=5),
    st.integers(1, 100),
    st.sampled_from([b"\n", b"\r\n", b"\n  \n"]),
)
def test_contents_come_out_as_they_went_in(contents: list[bytes], size: int, gap: bytes) -> None:
    body = gap.join(
        line(path=f"{n}", content=base64.b64encode(data).decode(), encoding="base64")
        for n, data in enumerate(contents)
    )
    found = list(lines_of(posted(body)))
    assert [one.value["path"] for one in found] == [str(n) for n in range(len(contents))]
    assert [one.content.size_bytes for one in found if one.content] == [*map(len, contents)]
    assert [read(one.content, size) for one in found] == contents


@given(
    st.binary(max_size=300)
    | st.lists(lines).map(lambda many: "\n".join(map(json.dumps, many)).encode())
)
def test_any_bytes_are_lines_or_are_refused_as_the_senders_fault(body: bytes) -> None:
    request = posted(body)
    refused: Exception | None = None
    found: list[CommitLine] = []
    try:
        found = list(lines_of(request))
    except Exception as error:  # noqa: BLE001 (whatever it is, it must have an answer)
        refused = error
    assert refused is None or answer(request, refused).status_code in {400, 413}
    assert all(isinstance(one.key, str) and isinstance(one.value, dict) for one in found)


def test_a_text_that_looks_like_a_content_is_none() -> None:
    trap = 'x","content":"eA=="'
    [one] = lines_of(posted(line(path=trap, summary='"content": "eA=="')))
    assert (one.content, one.value["path"]) == (None, trap)


@pytest.mark.parametrize("text", ["a", "ab=", "a===", "=", "ab==cd==", "a b=", "\\n", "ä"])
def test_what_is_not_base64_is_refused(text: str) -> None:
    with pytest.raises(BadRequest):
        list(lines_of(posted(b'{"key": "file", "value": {"content": "%s"}}' % text.encode())))


def test_only_a_content_may_be_long(monkeypatch: pytest.MonkeyPatch) -> None:
    # As short as they are meant to be long: the largest line takes seconds to make.
    monkeypatch.setattr(ndjson, "MAX_LINE_BYTES", 2 * MAX_REST_BYTES)
    longest = "A" * (2 * MAX_REST_BYTES - 60)
    [one] = lines_of(posted(line(content=longest)))
    assert one.content is not None
    assert one.content.size_bytes == len(longest) // 4 * 3
    with pytest.raises(BadRequest, match="too long"):
        list(lines_of(posted(line(path=longest))))
    with pytest.raises(TooLarge, match=str(2 * MAX_REST_BYTES)):
        list(lines_of(posted(line(content=longest + "A" * 60))))


def test_the_longest_line_holds_the_longest_file_that_is_not_large() -> None:
    assert len(base64.b64encode(bytes(10_000_000))) < MAX_LINE_BYTES


def test_there_is_an_end_to_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ndjson, "MAX_LINES", 3)
    assert len(list(lines_of(posted(b'{"key": "a", "value": {}}\n' * 3)))) == 3
    with pytest.raises(TooLarge, match="3 lines"):
        list(lines_of(posted(b"\n" * 4)))


def test_a_body_that_was_cut_off_is_no_shorter_commit() -> None:
    whole = b'{"key": "a", "value": {}}\n'
    request = RequestFactory().generic("POST", "/")
    request.META["CONTENT_LENGTH"] = str(len(whole) + 1)
    request._stream = io.BytesIO(whole)  # type: ignore[attr-defined]
    found = lines_of(request)
    assert next(found).key == "a"
    with pytest.raises(UnreadablePostError):
        next(found)
