"""The table of backends."""

from dataclasses import replace
from importlib import metadata

import pytest

from workers.backends import registry
from workers.backends.fake.backend import FakeBackend
from workers.engine.errors import BackendUnavailable
from workers.engine.types import TargetSpec
from workers.testing.builds import python

TARGET = TargetSpec("x86-64-avx2", "x86-64", frozenset({"avx2"}), 2, None)


def test_backends_are_found_by_what_is_installed() -> None:
    found, missing = registry.available(TARGET)
    assert "onnxruntime" in found
    assert found["onnxruntime"].name == "onnxruntime"
    assert {name for name, reason in missing.items() if "needs an NVIDIA GPU" in reason} == {
        "onnxruntime_cuda",
        "tensorrt",
        "tvm_cuda",
    }


def test_the_fake_one_is_used_only_when_asked_for() -> None:
    assert "fake" not in registry.available(TARGET)[0]
    found, missing = registry.available(TARGET, ["fake"])
    assert isinstance(found["fake"], FakeBackend)
    assert missing == {}


@pytest.mark.parametrize("name", sorted(registry.BACKENDS))
def test_a_backend_is_called_what_the_table_calls_it(name: str) -> None:
    assert registry.get(name).name == name


def test_a_backend_that_needs_another_form_says_so() -> None:
    found, missing = registry.available(TARGET, ["onnxruntime", "litert"], forms={"onnx"})
    assert list(found) == ["onnxruntime"]
    assert missing["litert"] == ("Backend litert needs the model as tflite or torch-export, too.")
    assert "litert" in registry.available(TARGET, ["litert"], forms={"tflite"})[0]


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(BackendUnavailable, match=r"'abacus'; known are fake, .*onnxruntime"):
        registry.get("abacus")
    assert "abacus" in registry.available(TARGET, ["abacus"])[1]


def test_a_missing_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = registry.Entry("no_such_package.backend:Backend", "no-such-package", extra="gone")
    monkeypatch.setitem(registry.BACKENDS, "gone", gone)
    found, missing = registry.available(TARGET, ["gone", "fake"])
    assert list(found) == ["fake"]
    assert "pip install 'hpcfair-hub[gone]'" in missing["gone"]


def test_a_library_that_is_not_installed_makes_its_backend_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    found, missing = registry.available(TARGET, ["onnxruntime"])
    assert found == {}
    assert "pip install onnxruntime" in missing["onnxruntime"]


def test_a_backend_serves_its_architectures_only(monkeypatch: pytest.MonkeyPatch) -> None:
    arm_only = replace(registry.BACKENDS["fake"], architectures=frozenset({"arm64"}))
    monkeypatch.setitem(registry.BACKENDS, "fake", arm_only)
    assert registry.available(TARGET, ["fake"])[1] == {
        "fake": "Backend fake does not serve x86-64."
    }


def test_another_package_adds_a_backend_but_replaces_none(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "workers.backends.fake.backend:FaultyBackend"
    points = [
        metadata.EntryPoint(name, path, registry.ENTRY_POINTS) for name in ("faulty", "onnxruntime")
    ]
    monkeypatch.setattr(metadata, "entry_points", lambda **_: points)
    assert registry.get("faulty").name == "faulty"
    assert registry.get("onnxruntime").name == "onnxruntime"


def test_the_table_is_read_without_importing_a_backend() -> None:
    code = (
        "import sys; from workers.backends import registry; registry.known()\n"
        "print([m for m in sys.modules if m.startswith('workers.backends.')])"
    )
    assert python(code).strip() == "['workers.backends.registry']"
