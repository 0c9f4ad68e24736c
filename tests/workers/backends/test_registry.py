"""The table of backends."""

import re
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
    backends, missing = registry.available(TARGET)
    assert "onnxruntime" in backends
    assert backends["onnxruntime"].name == "onnxruntime"
    assert {name for name, reason in missing.items() if "needs an NVIDIA GPU" in reason} == {
        "onnxruntime_cuda",
        "tensorrt",
        "torch_cuda",
        "tvm_cuda",
    }


def test_the_fake_one_is_used_only_when_asked_for() -> None:
    assert "fake" not in registry.available(TARGET)[0]
    backends, missing = registry.available(TARGET, ["fake"])
    assert isinstance(backends["fake"], FakeBackend)
    assert missing == {}


@pytest.mark.parametrize("name", sorted(registry.BACKENDS))
def test_a_backend_is_called_what_the_table_calls_it(name: str) -> None:
    assert registry.get(name).name == name


def test_a_backend_that_needs_another_form_says_so() -> None:
    backends, missing = registry.available(TARGET, ["onnxruntime", "litert"], formats={"onnx"})
    assert list(backends) == ["onnxruntime"]
    assert missing["litert"] == ("Backend litert needs the model as tflite or torch-export, too.")
    assert "litert" in registry.available(TARGET, ["litert"], formats={"tflite"})[0]


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(BackendUnavailable, match=r"'abacus'; available are fake, .*onnxruntime"):
        registry.get("abacus")
    assert "abacus" in registry.available(TARGET, ["abacus"])[1]


def test_a_missing_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = registry.BackendEntry("no_such_package.backend:Backend", requirement="hpcfair-hub[gone]")
    monkeypatch.setitem(registry.BACKENDS, "gone", gone)
    backends, missing = registry.available(TARGET, ["gone", "fake"])
    assert list(backends) == ["fake"]
    assert "pip install 'hpcfair-hub[gone]'" in missing["gone"]


def test_a_library_that_is_not_installed_makes_its_backend_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    backends, missing = registry.available(TARGET, ["onnxruntime"])
    assert backends == {}
    assert "pip install onnxruntime" in missing["onnxruntime"]


def test_a_backend_serves_its_architectures_only(monkeypatch: pytest.MonkeyPatch) -> None:
    arm_only = replace(registry.BACKENDS["fake"], architectures=frozenset({"arm64"}))
    monkeypatch.setitem(registry.BACKENDS, "fake", arm_only)
    assert registry.available(TARGET, ["fake"])[1] == {
        "fake": "Backend fake does not serve x86-64."
    }


def declare(monkeypatch: pytest.MonkeyPatch, **points: str) -> None:
    """Have other packages declare backends: name to object."""
    declared = [
        metadata.EntryPoint(name, path, registry.ENTRY_POINTS) for name, path in points.items()
    ]
    monkeypatch.setattr(metadata, "entry_points", lambda **_: declared)


FAULTY = registry.BackendEntry(
    "workers.backends.fake.backend:FaultyBackend", formats=frozenset({"onnx", "tflite"})
)
UNMAKEABLE = registry.BackendEntry(
    "workers.backends.fake.backend:NoSuchClass", distribution="abacus"
)


def test_another_package_adds_a_backend_with_a_table_entry_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    declare(monkeypatch, faulty=f"{__name__}:FAULTY")
    assert registry.get("faulty").name == "faulty"
    assert "faulty" in registry.available(TARGET, formats={"tflite"})[0]
    assert "faulty" in registry.available(TARGET, formats={"torch-export"})[1]


def test_another_package_cannot_replace_a_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    declare(monkeypatch, onnxruntime=f"{__name__}:FAULTY")
    backends, missing = registry.available(TARGET)
    assert backends["onnxruntime"].name == "onnxruntime"
    assert "the name is taken" in missing["onnxruntime (unknown package)"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("no_such_package:ENTRY", "ModuleNotFoundError: No module named 'no_such_package'"),
        (f"{__name__}:NO_SUCH_ENTRY", "AttributeError"),
        (f"{__name__}:TARGET", "is no workers.backends.registry.BackendEntry"),
        (f"{__name__}:UNMAKEABLE", "NoSuchClass.*pip install abacus"),
    ],
)
def test_a_broken_backend_of_another_package_is_reported_and_harms_no_other(
    monkeypatch: pytest.MonkeyPatch, path: str, reason: str
) -> None:
    declare(monkeypatch, broken=path)
    backends, missing = registry.available(TARGET)
    assert "onnxruntime" in backends
    assert re.search(reason, missing["broken"])
    assert re.search(reason, registry.available(TARGET, ["broken"])[1]["broken"])
    with pytest.raises(BackendUnavailable, match=reason):
        registry.get("broken")


def test_the_table_is_read_without_importing_a_backend() -> None:
    code = (
        "import sys; from workers.backends import registry; registry.entries()\n"
        "print([m for m in sys.modules if m.startswith('workers.backends.')])"
    )
    assert python(code).strip() == "['workers.backends.registry']"
