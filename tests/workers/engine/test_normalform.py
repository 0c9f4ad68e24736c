"""Builds are made from the normal form, and from the published file where there is none."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from hpcfair.isolation.limits import Limits
from tests.workers.engine import normalisers
from tests.workers.engine.cast import NETWORK, TARGET
from tests.workers.engine.normalisers import CopyingBackend
from workers.engine.local import LocalDevice
from workers.engine.normalform import PROVENANCE, NormalForm
from workers.engine.requests import TuningRequest
from workers.engine.types import BuildResult, Options

pytestmark = pytest.mark.slow

PUBLISHED: Options = {"converted": False}
CONVERTED: Options = {"converted": True}
LIMITS = Limits(wall_s=300, memory_bytes=2**30, file_bytes=2**24)


@contextmanager
def device(folder: Path, normaliser: str | None) -> Iterator[LocalDevice]:
    """A device with the network ``pretend``."""
    (folder / "model").mkdir()
    (folder / "scratch").mkdir()
    path = folder / "model" / "model.onnx"
    path.write_bytes(b"pretend")
    backend = CopyingBackend()
    network = replace(NETWORK, model_path=path)
    request = TuningRequest(network, TARGET, (backend.name,), limits=LIMITS, normaliser=normaliser)
    with LocalDevice(request, {backend.name: backend}, folder / "scratch") as opened:
        yield opened


def content(build: BuildResult) -> bytes:
    assert build.directory is not None, build.detail
    return (build.directory / build.entry_point).read_bytes()


def test_builds_that_read_it_are_made_from_the_normal_form(tmp_path: Path) -> None:
    with device(tmp_path, normalisers.USUAL) as opened:
        plain = opened.build("copying", PUBLISHED)
        assert content(plain) == b"pretend"
        assert PROVENANCE not in plain.provenance
        assert opened.normal_form is None
        built = opened.build("copying", CONVERTED)
        assert content(built) == b"PRETEND"
        facts = {"steps": ["letters"], "skipped": {"digits": "there are none"}}
        assert built.provenance[PROVENANCE] == facts
        assert built.toolchain["letters"] == "1"
        form = opened.normal_form
        assert form is not None
        assert form.note == "Left out of the normal form: digits (there are none)"
        # It is made once.
        opened.discard(built)
        assert content(opened.build("copying", CONVERTED)) == b"PRETEND"
        assert opened.normal_form is form


def test_without_a_normaliser_all_builds_are_made_from_the_published_file(tmp_path: Path) -> None:
    with device(tmp_path, None) as opened:
        built = opened.build("copying", CONVERTED)
        assert content(built) == b"pretend"
        assert PROVENANCE not in built.provenance


def test_a_network_in_normal_form_is_read_as_it_was_published(tmp_path: Path) -> None:
    with device(tmp_path, normalisers.NEEDLESS) as opened:
        built = opened.build("copying", CONVERTED)
        assert content(built) == b"pretend"
        assert built.provenance[PROVENANCE]["steps"] == []
        assert "letters" not in built.toolchain


@pytest.mark.parametrize(
    ("normaliser", "reason"),
    [
        (normalisers.REFUSING, "invalid: the network is too large"),
        (normalisers.OUTSIDE, "a file outside of its folder"),
        (normalisers.CRASHING, "crash: "),
        (normalisers.WORDLESS, "the child's answer is invalid"),
    ],
)
def test_a_normaliser_that_fails_leaves_the_published_file(
    tmp_path: Path, normaliser: str, reason: str
) -> None:
    with device(tmp_path, normaliser) as opened:
        built = opened.build("copying", CONVERTED)
        assert content(built) == b"pretend"
        assert reason in built.provenance[PROVENANCE]["reason"]
        assert opened.normal_form is not None
        assert opened.normal_form.note.startswith("Builds are made from the published file: ")


def test_a_note_is_short() -> None:
    assert NormalForm().note == ""
    assert len(NormalForm(skipped=dict.fromkeys("abcdef", "x" * 200)).note) == 500
