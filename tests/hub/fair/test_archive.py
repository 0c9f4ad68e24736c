"""A ZIP whose length and parts are told before it is packed: by what the standard library reads."""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from hub.fair.archive import Archive, Member

MOMENT = datetime(2026, 3, 1, 12, 30, 4, tzinfo=UTC)
FILES = {"a.txt": b"one\n", "data/grüße aus 2025.txt": b"\xc3\xbc", "empty": b"", "b": b"x" * 5000}


def archive_of(files: Mapping[str, bytes], moment: datetime = MOMENT) -> Archive:
    return Archive([member(path, data) for path, data in files.items()], moment)


def member(path: str, data: bytes, promised: int | None = None) -> Member:
    blocks = [data[at : at + 999] for at in range(0, len(data), 999)]
    size = len(data) if promised is None else promised
    return Member(path, size, hashlib.sha256(data).hexdigest(), lambda: blocks)


def whole(archive: Archive) -> bytes:
    return b"".join(archive.stream(0, len(archive)))


def test_it_is_a_zip_of_the_length_that_was_told() -> None:
    data = whole(archive_of(FILES))
    assert len(data) == len(archive_of(FILES))
    found = zipfile.ZipFile(io.BytesIO(data))
    assert found.testzip() is None
    assert {name: found.read(name) for name in found.namelist()} == FILES
    assert {one.date_time for one in found.filelist} == {(2026, 3, 1, 12, 30, 4)}


def test_any_part_is_a_part_of_the_same_whole() -> None:
    data = whole(archive_of(FILES))
    assert whole(archive_of(FILES)) == data
    for first in range(0, len(data), 97):
        for length in (1, 300, len(data) - first):
            part = b"".join(archive_of(FILES).stream(first, length))
            assert part == data[first : first + length], (first, length)


def test_other_bytes_have_another_tag() -> None:
    tag = archive_of(FILES).etag
    assert archive_of(FILES).etag == tag
    others = [
        archive_of(FILES | {"a.txt": b"two\n"}),
        archive_of({path: FILES[path] for path in reversed(FILES)}),
        archive_of(FILES, MOMENT.replace(year=2025)),
    ]
    assert tag not in {one.etag for one in others}


@pytest.mark.parametrize("limit", [1000, 2500, 4800, 5100, 8000])
def test_lengths_beyond_the_formats_first_numbers_are_told_too(
    monkeypatch: Any, limit: int
) -> None:
    # The format's own limit is 2 GiB; the rule is the same at any.
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit)
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 4)
    for files in (FILES, FILES | {"c": b"y" * 4900, "d": b"z"}, {"b": FILES["b"]}, {}):
        archive = archive_of(files)
        assert sum(map(len, archive.stream(0, 10**9))) == len(archive), (limit, list(files))


def test_a_file_of_another_length_than_promised_ends_it() -> None:
    for promised in (3, 5):
        archive = Archive([member("a.txt", b"four", promised)], MOMENT)
        with pytest.raises(OSError, match=r"a\.txt"):
            whole(archive)


@pytest.mark.parametrize("year", [1970, 2200])
def test_years_that_the_format_cannot_tell_do_not_break_it(year: int) -> None:
    assert zipfile.ZipFile(io.BytesIO(whole(archive_of(FILES, MOMENT.replace(year=year)))))
