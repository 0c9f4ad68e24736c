"""Every block of code in tutorials, guides for users, the front page and the README works."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.manual.blocks import DOCS, ROOT, RUN, Block, blocks_of, fences
from tests.manual.conftest import Reader
from tests.manual.notebook import TUTORIALS, notebook_of
from tests.manual.session import Session
from tests.programs import needs

#: Runs a notebook in a process of its own, because kernels leave threads and warnings behind.
_EXECUTE = """
import sys, nbclient, nbformat
nbclient.NotebookClient(nbformat.read(sys.argv[1], 4), timeout=600, kernel_name="python3").execute()
"""
#: Pages that need a hub with the first model, and no more.
_PAGES = (
    *("docs/tutorials/scikit-learn.md", "docs/tutorials/compare.md", "docs/howto/tolerance.md"),
    "docs/howto/find.md",
    *("docs/howto/batch.md", "docs/howto/offline.md", "docs/index.md", "README.md"),
    "docs/howto/model-bundle.md",
    *("docs/webhooks.md", "docs/reproduction.md", "docs/howto/run-on.md"),
)
#: Pages with a test of their own below.
_OTHERS = (
    *("docs/tutorials/publish.md", "docs/tutorials/pipeline.md", "docs/tutorials/reproduce.md"),
    *("docs/tutorials/pytorch.md", "docs/howto/load.md", "docs/howto/backup.md"),
    "docs/huggingface.md",
)
#: Pages with Python that other tests run, where the page would need too much.
_ELSEWHERE = {
    "docs/howto/compare.md": "client/tests/test_comparison.py",
    "docs/howto/import.md": "tests/contract/test_import.py",
    "docs/howto/foreign-profiles.md": "client/tests/test_importedprofile.py",
    "docs/howto/save.md": "client/tests/test_exporter_contract.py",
    "docs/howto/hpc.md": "client/tests/test_collective.py",
    "docs/howto/graph.md": "client/tests/test_topology.py",
    "docs/tuning.md": "client/tests/test_placement_recipe.py",
    "docs/huggingface.md": "tests/clients/test_versions.py",
    "docs/howto/generate.md": "client/tests/test_generation.py",
    "docs/howto/huggingface-folders.md": "tests/workers/jobs/test_conversion.py",
    "docs/howto/load.md": "client/tests/test_concurrency.py",
    "docs/reproduction.md": "client/tests/test_bench.py",
}


@pytest.mark.slow
def test_a_first_model_is_published_tuned_and_loaded(publisher: Reader) -> None:
    assert (publisher.home / "publish" / "edges.onnx").exists()


@pytest.mark.slow
@pytest.mark.parametrize("page", _PAGES)
def test_pages_can_be_followed(publisher: Reader, page: str) -> None:
    publisher.follow(ROOT / page)


@pytest.mark.slow
@needs("torch")
def test_a_module_of_pytorch_is_published(publisher: Reader) -> None:
    publisher.follow(DOCS / "tutorials/pytorch.md")


@pytest.mark.slow
@needs("linux")
@needs("seccomp")
@needs("cryptography")
def test_loading_can_be_changed(publisher: Reader) -> None:
    publisher.follow(DOCS / "howto/load.md")


@pytest.mark.slow
@needs("curl")
@needs("jq")
def test_a_pipeline_publishes_with_curl(publisher: Reader) -> None:
    publisher.follow(DOCS / "tutorials/pipeline.md", HPCFAIR_TOKEN=publisher.token)


@pytest.mark.slow
@needs("jq")
@needs("cryptography")
def test_a_record_is_reproduced(publisher: Reader) -> None:
    publisher.follow(DOCS / "tutorials/reproduce.md")


@pytest.mark.slow
def test_programs_of_hugging_face_work(publisher: Reader) -> None:
    weights = publisher.home / "huggingface" / "weights"
    weights.mkdir(parents=True)
    (weights / "README.md").write_text("---\nlicense: mit\n---\n# Surrogate\n")
    publisher.follow(DOCS / "huggingface.md")


@pytest.mark.slow
def test_a_backup_of_a_running_hub_is_whole(publisher: Reader) -> None:
    folder = publisher.home / "backup"
    folder.mkdir()
    (folder / ".hpcfair").symlink_to(publisher.data)
    publisher.follow(DOCS / "howto/backup.md")


@pytest.mark.slow
@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda page: page.stem)
def test_notebooks_run(publisher: Reader, tutorial: Path) -> None:
    notebook = tutorial.with_suffix(".ipynb")
    subprocess.run(
        [sys.executable, "-c", _EXECUTE, str(notebook)],
        check=True,
        env=dict(publisher.environment()),
    )


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda page: page.stem)
def test_notebooks_say_what_their_tutorials_say(tutorial: Path) -> None:
    written = tutorial.with_suffix(".ipynb").read_text()
    assert written == notebook_of(tutorial), "run: make docs-notebook"
    nbformat.validate(nbformat.reads(written, as_version=4))


def test_every_program_of_the_manual_is_run() -> None:
    """Commands that only show something are of the language ``console``."""
    pages = [ROOT / "README.md", *DOCS.rglob("*.md")]
    programs = {str(page.relative_to(ROOT)) for page in pages if list(blocks_of(page))}
    assert programs == {*_PAGES, *_OTHERS}
    others = {
        str(page.relative_to(ROOT))
        for page in pages
        for token in fences(page.read_text())
        if token.info.startswith(RUN) and token.info not in RUN
    }
    assert others == _ELSEWHERE.keys()
    assert all((ROOT / test).exists() for test in _ELSEWHERE.values())


def test_tutorials_show_nothing_that_is_not_run() -> None:
    shown = [
        f"{page.name}: {token.content}"
        for page in (DOCS / "tutorials").glob("*.md")
        for token in fences(page.read_text())
        if token.info == "console" and not token.content.startswith("$ pip install")
    ]
    assert not shown


@pytest.mark.parametrize(
    ("language", "text", "output"),
    [("bash", "false\n", None), ("python", "1 / 0\n", None), ("bash", "echo one\n", "two\n")],
)
def test_a_block_that_does_not_work_fails(
    tmp_path: Path, language: str, text: str, output: str | None
) -> None:
    session = Session(tmp_path / "home", {"PATH": "/usr/bin:/bin"}, "http://hub.invalid", "")
    try:
        with pytest.raises(AssertionError, match=r"page\.md:3"):
            session.run(Block("page.md", 3, language, text, output))
    finally:
        session.close()
