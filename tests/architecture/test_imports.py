"""The import law holds; ``.importlinter`` states it."""

from importlinter.cli import lint_imports


def test_imports_go_one_way() -> None:
    assert lint_imports(cache_dir=None) == 0
