"""``gc``, ``fsck`` and ``quota``, as operators call them."""

import argparse
import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from hub.management.console import size, span, spelled
from registry.storage import blob_store
from registry.tables import Blob, User
from tests.factories import make_mlmodel, store

pytestmark = pytest.mark.django_db


def said(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_a_collection_says_what_it_freed(data_dir: Path, alice: User) -> None:
    blob = store(b"x" * 2048, alice)
    assert said("gc") == "freed 0 bytes\n"
    dry = said("gc", "--dry-run", "--grace", "0s")
    assert "would free 0 bytes" in dry
    assert "1 blobs condemned" in dry
    assert blob_store().exists(blob.sha256)
    text = said("gc", "--grace", "0s")
    assert text.splitlines()[0] == "freed 2.0 KiB"
    assert not blob_store().exists(blob.sha256)
    assert json.loads(said("gc", "--json", "--recount"))["blobs"] == 0


def test_a_sound_hub_passes_and_a_damaged_one_ends_with_status_1(
    data_dir: Path, alice: User
) -> None:
    make_mlmodel("alice/net", files={"a": b"kept"})
    assert said("fsck") == "0 faults; 0 leftovers for gc\n"
    blob_store().parts_begin(5)
    assert said("fsck").endswith("0 faults; 1 leftovers for gc\n")
    sha256 = Blob.objects.get(size_bytes=4).sha256
    blob_store().delete(sha256)
    out = io.StringIO()
    with pytest.raises(SystemExit, match="1"):
        call_command("fsck", "--json", stdout=out)
    faults = [json.loads(line) for line in out.getvalue().splitlines()]
    assert {(fault["kind"], fault["is_litter"]) for fault in faults} == {
        ("bytes_missing", False),
        ("leftover", True),
    }


def test_quotas_are_listed_and_set(data_dir: Path, alice: User, bob: User, settings: Any) -> None:
    used = spelled(make_mlmodel("alice/net", files={"a": b"x" * 5000}).used_bytes)
    settings.QUOTA_BYTES = None
    assert said("quota") == f"alice\t{used}\tno quota\nbob\t0 bytes\tno quota\n"
    assert "of 50.0 GiB (own)\t0%" in said("quota", "alice", "--set", "50GiB")
    settings.QUOTA_BYTES = 2**20
    assert "of 1.0 MiB (default)" in said("quota", "bob")
    assert "no quota" in said("quota", "bob", "--set", "none")
    assert "(default)" in said("quota", "bob", "--set", "default")
    for wrong in (["--set", "50GiB"], ["bob", "--set", "much"], ["nobody"]):
        with pytest.raises(CommandError):
            said("quota", *wrong)


@pytest.mark.parametrize(
    ("text", "number"),
    [("5", 5), ("1.5KiB", 1536), ("50GiB", 50 * 2**30), ("2 tib", 2 * 2**40), ("7B", 7)],
)
def test_sizes_are_read(text: str, number: int) -> None:
    assert size(text) == number


@pytest.mark.parametrize("text", ["", "GiB", "-5", "5GB", "5 G", "1e3"])
def test_what_is_no_size_or_span_is_refused(text: str) -> None:
    for read in (size, span):
        with pytest.raises(argparse.ArgumentTypeError):
            read(text)


def test_spans_are_read() -> None:
    assert [span(text) for text in ("0s", "90", "30m", "24h", "7d")] == [
        timedelta(0), timedelta(seconds=90), timedelta(minutes=30), timedelta(1), timedelta(7)
    ]  # fmt: skip


def test_sizes_are_spelled() -> None:
    assert [spelled(n) for n in (0, 1023, 1024, 5 * 2**30, 2**50)] == [
        "0 bytes", "1023 bytes", "1.0 KiB", "5.0 GiB", "1024.0 TiB"
    ]  # fmt: skip
