"""The package itself: what it exports, what it costs to import, what it needs."""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hpcfair
from hpcfair import default
from hpcfair.client import Client
from hpcfair.exporters.registry import EXPORTERS
from hpcfair.runtimes.registry import RUNTIMES


def modules() -> list[str]:
    # Importing the entry point of a child process is harmless, it only serves when run.
    return [found.name for found in pkgutil.walk_packages(hpcfair.__path__, "hpcfair.")]


@pytest.mark.parametrize("name", hpcfair.__all__)
def test_every_exported_name_is_there_and_explained(name: str) -> None:
    assert inspect.getdoc(getattr(hpcfair, name))


def test_a_name_that_is_not_exported_is_an_attribute_error() -> None:
    name = "no_such_verb"

    with pytest.raises(AttributeError, match="no_such_verb"):
        getattr(hpcfair, name)


def test_no_module_takes_the_name_of_a_function() -> None:
    """Importing ``hpcfair.load`` would make ``hpcfair.load`` the module."""
    taken = {name.rpartition(".")[2] for name in modules() if name.count(".") == 1}

    assert taken & set(hpcfair.__all__) == set()


def test_every_module_that_needs_no_optional_package_can_be_imported() -> None:
    tables = [e for e in EXPORTERS.values() if e.packages], list(RUNTIMES.values())
    optional = {entry.path.partition(":")[0] for table in tables for entry in table}

    for name in set(modules()) - optional:
        importlib.import_module(name)


def test_functions_have_the_signatures_of_the_clients_methods() -> None:
    for name in ("search", "load", "save", "reuse", "tune"):
        function = list(inspect.signature(getattr(hpcfair, name)).parameters)
        method = list(inspect.signature(getattr(Client, name)).parameters)
        assert function == method[1:]


def test_functions_follow_the_environment(
    monkeypatch: pytest.MonkeyPatch, hub: Any, home: Any
) -> None:
    monkeypatch.setenv("HPCFAIR_URL", "https://one.test")
    first = default.default_client()
    monkeypatch.setenv("HPCFAIR_URL", "https://two.test")

    assert default.default_client().config.url == "https://two.test"
    assert default.default_client() is default.default_client()
    assert first.config.url == "https://one.test"


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, hpcfair; print(sorted(sys.modules))"

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout

    for heavy in ("numpy", "httpx", "rich", "typer", "yaml", "onnxruntime"):
        assert f"'{heavy}'" not in loaded


def test_the_client_needs_no_optional_package() -> None:
    """Everything but runtimes and exporters works without ONNX and scikit-learn."""
    optional = ["onnx", "onnxruntime", "sklearn", "skl2onnx", "django", "registry", "hub"]
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({optional}))\n"
        "import hpcfair, hpcfair.cli\n"
        "[getattr(hpcfair, name) for name in hpcfair.__all__]"
    )

    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_module_imports_names_that_python_3_10_lacks() -> None:
    newer = re.compile(
        r"^from (typing import .*\b(Self|Unpack)|datetime import .*\bUTC)\b", re.MULTILINE
    )
    paths = Path(hpcfair.__file__).parent.rglob("*.py")

    users = {path.name for path in paths if newer.search(path.read_text("utf-8"))}

    assert users <= {"typingnames.py"}
