"""The file of a job bundle: written files are read back, all others are refused."""

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcfair import bundle
from hpcfair.bundle import BundledBlob, BundleInvalid
from hpcfair.bundlefile import BlobStream, BundleFile

CONTENTS = [b"weights", b"", bytes(1000)]


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def manifest(contents: list[bytes]) -> dict[str, Any]:
    blobs = [{"sha256": digest(one), "size_bytes": len(one)} for one in contents]
    return {"schema": "x", "blobs": blobs}


def packed(contents: list[bytes] = CONTENTS) -> bytes:
    """A bundle whose envelope is its manifest; users of bundles verify signatures."""
    of = {digest(one): one for one in contents}

    def opened(sha256: str) -> BinaryIO:
        return io.BytesIO(of[sha256])

    blobs = [BundledBlob(sha256, len(content)) for sha256, content in of.items()]
    return b"".join(bundle.pieces(manifest(contents), blobs, opened))


def read(data: bytes, folder: Path) -> BundleFile:
    path = folder / "jobs.bundle"
    path.write_bytes(data)
    return BundleFile(path, lambda envelope: envelope)


def test_a_written_bundle_is_read_back(tmp_path: Path) -> None:
    with read(packed(), tmp_path) as file:
        assert file.manifest == manifest(CONTENTS)
        assert [file.content_of(sha256) for sha256 in file.blobs] == CONTENTS
        file.copy(digest(CONTENTS[0]), tmp_path / "copy")
        with pytest.raises(KeyError):
            file.copy("0" * 64, tmp_path / "none")
        assert BlobStream(file, digest(CONTENTS[2])).read() == CONTENTS[2]
    assert (tmp_path / "copy").read_bytes() == CONTENTS[0]
    assert not (tmp_path / "none").exists()


def test_any_tar_program_lists_a_bundle() -> None:
    with tarfile.open(fileobj=io.BytesIO(packed())) as tar:
        assert tar.getnames() == ["bundle.json", *(f"blobs/{digest(one)}" for one in CONTENTS)]


def test_sizes_above_eight_gibibytes_need_no_extended_header() -> None:
    header = bundle.header("blobs/" + "0" * 64, 2**40)
    assert len(header) == tarfile.BLOCKSIZE
    assert tarfile.TarInfo.frombuf(header, "utf-8", "strict").size == 2**40


@given(st.data())
def test_any_changed_byte_is_refused(tmp_path_factory: Any, data: st.DataObject) -> None:
    whole = bytearray(packed())
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    folder = tmp_path_factory.mktemp("flipped")
    try:
        with read(bytes(whole), folder) as file:
            # A flip inside the envelope is found by its signature.
            assert file.envelope != manifest(CONTENTS)
    except BundleInvalid:
        pass


@given(st.integers(0, 10_000))
def test_a_file_that_is_cut_off_is_refused(tmp_path_factory: Any, length: int) -> None:
    whole = packed()
    with pytest.raises(BundleInvalid):
        read(whole[: length % len(whole)], tmp_path_factory.mktemp("cut"))


def member(path: str, content: bytes = b"", **columns: Any) -> bytes:
    """A member of a tar file as any program writes it."""
    info = tarfile.TarInfo(path)
    info.size = len(content)
    for name, value in columns.items():
        setattr(info, name, value)
    return info.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % tarfile.BLOCKSIZE)


def at_first_blob(part: bytes) -> bytes:
    """A bundle with ``part`` in place of what follows the manifest."""
    whole = packed()
    return whole[: whole.index(b"blobs/")] + part + bytes(1024)


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (member("../../etc/passwd", b"x"), "a file '../../etc/passwd'"),
        (member("/etc/passwd", b"x"), "a file '/etc/passwd'"),
        (member("blobs/x", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "a symbolic link"),
        (member("blobs/x", type=tarfile.LNKTYPE, linkname="bundle.json"), "a hard link"),
        (member("blobs", type=tarfile.DIRTYPE), "a folder"),
        (member("blobs/x", type=tarfile.CHRTYPE), "a special file"),
        (member("blobs/x", b"1 path=../../x\n", type=tarfile.XHDTYPE), "an extended header"),
        (member("././@LongLink", b"../../x", type=tarfile.GNUTYPE_LONGNAME), "an extended header"),
        (member("blobs/x", b"", type=tarfile.GNUTYPE_SPARSE), "a sparse file"),
        (member(f"blobs/{digest(b'weights')}", b"weights", mode=0o4755), "a file"),
        (b"\xff" * 512, "other bytes"),
    ],
    ids=["parent", "root", "symlink", "hardlink", "folder", "device", "pax", "longname", "sparse",
         "setuid", "noise"],
)  # fmt: skip
def test_members_that_a_bundle_does_not_have_are_refused(
    tmp_path: Path, part: bytes, reason: str
) -> None:
    with pytest.raises(BundleInvalid, match=reason):
        read(at_first_blob(part), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["jobs.bundle"]


def listing(**blob: Any) -> Callable[[bytes], bytes]:
    def change(_: bytes) -> bytes:
        return b"".join(bundle.pieces({"blobs": [blob]}, [], lambda _: io.BytesIO()))

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda whole: whole + b"\0", "bytes follow"),
        (lambda whole: whole + whole, "bytes follow"),
        (lambda _: b"", "not a bundle"),
        (lambda _: b"PK\x03\x04" + bytes(600), "not a bundle"),
        (lambda _: b"\x1f\x8b\x08" + bytes(600), "not a bundle"),
        (lambda _: member("bundle.json", b"{"), "not JSON"),
        (lambda _: member("bundle.json", b"[" * 100_000), "not JSON"),
        (lambda _: member("bundle.json", b"{}"), "does not list"),
        (lambda _: member("other.json", b"{}"), "a file 'other.json'"),
        (lambda _: member("bundle.json"), "a manifest of 0 bytes"),
        (listing(sha256="../../x", size_bytes=1), "without a SHA-256"),
        (listing(sha256="A" * 64, size_bytes=1), "without a SHA-256"),
        (listing(sha256="a" * 64, size_bytes=-1), "or a size"),
        (listing(sha256="a" * 64, size_bytes=True), "or a size"),
        (listing(sha256="a" * 64), "does not list"),
    ],
)  # fmt: skip
def test_malformed_files_are_refused(
    tmp_path: Path, change: Callable[[bytes], bytes], reason: str
) -> None:
    with pytest.raises(BundleInvalid, match=reason):
        read(change(packed()), tmp_path)


def test_a_huge_manifest_is_refused_before_it_is_read(tmp_path: Path) -> None:
    info = tarfile.TarInfo("bundle.json")
    info.size = 2**50
    with pytest.raises(BundleInvalid, match="a manifest of 1125899906842624 bytes"):
        read(info.tobuf(tarfile.GNU_FORMAT), tmp_path)


def test_a_negative_size_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("bundle.json")
    info.size = -1
    with pytest.raises(BundleInvalid):
        read(info.tobuf(tarfile.GNU_FORMAT), tmp_path)


def test_a_file_that_is_listed_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleInvalid, match="twice"):
        read(b"".join(bundle.pieces(manifest([b"a", b"a"]), [], io.BytesIO)), tmp_path)


def test_nothing_is_read_before_the_signature_is_verified(tmp_path: Path) -> None:
    class Unsigned(Exception):
        pass

    def refuse(_: Any) -> Any:
        raise Unsigned

    path = tmp_path / "jobs.bundle"
    path.write_bytes(at_first_blob(b"\xff" * 512))
    with pytest.raises(Unsigned):
        BundleFile(path, refuse)


def test_a_change_after_the_verification_is_detected(tmp_path: Path) -> None:
    # Larger than the buffer of a file.
    large = b"weights" * 2**18
    with read(packed([large]), tmp_path) as file:
        whole = bytearray((tmp_path / "jobs.bundle").read_bytes())
        whole[2**20] ^= 1
        (tmp_path / "jobs.bundle").write_bytes(whole)
        with pytest.raises(BundleInvalid, match="damaged"):
            file.copy(digest(large), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_blobs_with_a_wrong_digest_are_not_written() -> None:
    blob = BundledBlob(digest(b"a"), 1)
    with pytest.raises(BundleInvalid, match="damaged"):
        list(bundle.pieces({}, [blob], lambda _: io.BytesIO(b"b")))
    with pytest.raises(BundleInvalid, match="cut off"):
        list(bundle.pieces({}, [blob], lambda _: io.BytesIO(b"")))
