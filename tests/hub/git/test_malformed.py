"""Bodies that no git sends: refused in one line, never a defect."""

import gzip
import io
import zlib
from typing import Any

import pytest
from django.test import Client
from gunicorn.http.errors import ChunkMissingTerminator, InvalidChunkSize, NoMoreData
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.selectors.repository.git import references
from registry.tables import MLModel

pytestmark = pytest.mark.django_db

ADDRESS = "/lab/galaxy-cnn.git/git-upload-pack"


class Stream(io.BytesIO):
    """A body whose server finds a fault while it is read."""

    def __init__(self, fault: Exception) -> None:
        super().__init__()
        self._fault = fault

    def read(self, *_: Any) -> bytes:
        raise self._fault


def post(body: bytes, **more: Any) -> Any:
    answer = Client(raise_request_exception=True).post(
        ADDRESS, body, content_type="application/x-git-upload-pack-request", **more
    )
    b"".join(answer)
    return answer


@pytest.mark.parametrize(
    "fault",
    [
        InvalidChunkSize(b"zz"),
        ChunkMissingTerminator(b""),
        NoMoreData(),
        ConnectionResetError("gone"),
        TimeoutError(),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_a_malformed_chunk_is_the_clients_mistake(galaxy: MLModel, fault: Exception) -> None:
    environ = {"wsgi.input": Stream(fault), "wsgi.input_terminated": True}
    answer = Client().post(ADDRESS, **environ)
    assert answer.status_code == 400
    assert "malformed" in answer.content.decode()


def test_a_small_body_that_inflates_to_much_is_refused(galaxy: MLModel) -> None:
    bomb = gzip.compress(b"0" * (64 << 20))
    assert len(bomb) < 1 << 20
    answer = post(bomb, headers={"Content-Encoding": "gzip"})
    assert answer.status_code == 413


ZIPPED = gzip.compress(b"0000", mtime=0)
NO_GZIP = {
    "nothing": b"",
    "text": b"no gzip",
    "cut at the end": ZIPPED[:-5],
    "cut at the start": ZIPPED[:5],
    "zlib": zlib.compress(b"0000"),
    "more behind it": ZIPPED + b"more",
    "twice": gzip.compress(ZIPPED),
}


@pytest.mark.parametrize("body", NO_GZIP.values(), ids=NO_GZIP)
def test_a_body_that_is_not_gzip_is_refused(galaxy: MLModel, body: bytes) -> None:
    answer = post(body, headers={"Content-Encoding": "gzip"})
    assert answer.status_code in {200, 400}


def line(text: bytes) -> bytes:
    return b"%04x%s" % (len(text) + 4, text)


OID = st.sampled_from([b"0" * 40, b"f" * 40, b"HEAD", b"g" * 40, b"a" * 39, b""])
WORD = st.sampled_from(
    [
        *(b"want", b"have", b"shallow", b"deepen", b"deepen-since", b"deepen-not", b"done"),
        *(b"command=fetch", b"command=ls-refs", b"command=", b"ref-prefix", b"peel", b"symrefs"),
        *(b"filter", b"\0"),
    ]
)
VALUE = OID | st.sampled_from([b"1", b"-1", b"9" * 30, b"\xff", b"refs/heads/main", b"1 2"])
LINE = st.builds(lambda word, value: line(word + b" " + value + b"\n"), WORD, VALUE)
FRAME = st.sampled_from(
    [b"0000", b"0001", b"0002", b"0003", b"0004", b"fff1", b"ffff", b"zzzz", b"00"]
)
BODY = st.lists(LINE | FRAME | st.binary(max_size=12), max_size=12).map(b"".join)


@given(body=BODY, is_2=st.booleans(), is_known=st.booleans(), zipped=st.booleans())
@settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_whatever_is_sent_is_answered(
    galaxy: MLModel, body: bytes, *, is_2: bool, is_known: bool, zipped: bool
) -> None:
    if is_known:
        oid = next(iter(references(galaxy).names.values())).encode()
        body = body.replace(b"f" * 40, oid)
    headers = {"Git-Protocol": "version=2"} if is_2 else {}
    if zipped:
        body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
    assert post(body, headers=headers).status_code in {200, 400}
