"""Texts to be copied; ``tests/snippets`` runs them."""

import ast
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcfair.precisions import TOLERANCES
from hpcfair.runtimes.registry import RUNTIMES
from hub.pages import snippets
from registry.selectors.results.speed import InputShape

HUB = "https://hub.example.org"
X = InputShape("x", "float32", (1, 3, 8, 8))

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
shapes = st.lists(st.integers(1, 64), max_size=4).map(tuple)
inputs = st.lists(
    st.builds(InputShape, names, st.sampled_from(["float32", "int64", "bool", "bfloat16"]), shapes),
    max_size=3,
)


def test_each_runtime_is_installed_by_its_extra() -> None:
    assert {name: f"hpcfair[{extra}]" for name, extra in snippets.EXTRAS.items()} == {
        name: entry.requirement for name, entry in RUNTIMES.items()
    }


def test_a_model_is_loaded_and_run_in_a_few_lines() -> None:
    terminal, python = snippets.load(
        HUB, "lab/galaxy-cnn", runtime="openvino", limits={"tolerance": "int8"}, inputs=[X]
    )
    assert terminal.text.splitlines() == [
        "pip install 'hpcfair[openvino,verify]'",
        "export HPCFAIR_URL=https://hub.example.org",
    ]
    assert python.text.splitlines() == [
        "import hpcfair",
        "import numpy as np",
        "",
        'm = hpcfair.load("lab/galaxy-cnn", tolerance="int8")',
        "x = np.zeros((1, 3, 8, 8), np.float32)  # your data",
        "y = m(x)",
        "print(m.explain())  # what was loaded, and why",
    ]


@given(names, names, st.sampled_from(TOLERANCES), inputs)
def test_every_program_is_valid_whatever_tensors_and_revisions_are_called(
    name: str, revision: str, tolerance: str, tensors: list[InputShape]
) -> None:
    _, python = snippets.load(
        HUB, name, revision=revision, limits={"tolerance": tolerance}, inputs=tensors
    )
    (call,) = [
        node
        for node in ast.walk(ast.parse(python.text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "hpcfair.load"
    ]
    assert ast.literal_eval(call.args[0]) == name
    options = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    assert options.get("revision") == revision
    assert options.get("tolerance", "exact") == tolerance
    (command,) = snippets.command(HUB, name, revision=revision, tolerance=tolerance)
    assert name in shlex.split(command.text)
    assert revision in shlex.split(command.text)


def test_reproducing_needs_the_default_extra() -> None:
    (terminal,) = snippets.reproduce(HUB, "lab/galaxy-cnn", revision="v1")
    install, _, command = terminal.text.splitlines()
    assert install == "pip install 'hpcfair[run]'"
    assert command == "hpcfair reproduce lab/galaxy-cnn --revision v1"


def test_a_decoder_generates() -> None:
    cache = InputShape("past_key_values.0.key", "float32", (1, 2, 128, 8))
    ids = InputShape("input_ids", "int64", (1, 1))
    _, python = snippets.load(HUB, "lab/words", inputs=[ids, cache])
    assert "m.generate(prompt, 20)" in python.text
    assert "numpy" not in python.text


def test_several_inputs_are_passed_by_name() -> None:
    mask = InputShape("attention mask", "int64", (1, 8))
    _, python = snippets.load(HUB, "lab/words", inputs=[X, mask])
    assert '    "attention mask": np.zeros((1, 8), np.int64),' in python.text


def test_a_type_that_numpy_lacks_is_loaded_and_not_run() -> None:
    _, python = snippets.load(HUB, "lab/words", inputs=[InputShape("x", "bfloat16", (1,))])
    assert "m(x)" not in python.text
    assert "numpy" not in python.text


def test_what_is_closed_begins_with_signing_in() -> None:
    for group in (
        snippets.load(HUB, "a/b", sign_in=True),
        snippets.command(HUB, "a/b", sign_in=True),
        snippets.reproduce(HUB, "a/b", sign_in=True),
        snippets.publish(HUB, "a/b"),
    ):
        assert "hpcfair login" in group[0].text.splitlines()
    for group in (
        snippets.download(HUB, "a/b", sign_in=True),
        snippets.hf(HUB, "a/b", sign_in=True),
    ):
        assert "hf auth login" in group[0].text.splitlines()
    assert "login" not in snippets.load(HUB, "a/b")[0].text


@pytest.mark.parametrize(
    ("options", "package", "call"),
    [
        ({}, "huggingface_hub", 'snapshot_download("a/b")'),
        ({"library": "transformers"}, "transformers torch", 'AutoModel.from_pretrained("a/b")'),
        ({"is_dataset": True}, "datasets", 'load_dataset("a/b")'),
        ({"revision": "v1"}, "huggingface_hub", 'snapshot_download("a/b", revision="v1")'),
    ],
)
def test_files_are_fetched_with_the_library_of_the_card(
    options: dict[str, object], package: str, call: str
) -> None:
    terminal, python = snippets.download(HUB, "a/b", **options)  # type: ignore[arg-type]
    assert f"pip install {package}" in terminal.text
    assert call in python.text
    assert f"export HF_ENDPOINT={HUB}" in terminal.text


def test_the_command_hf_names_kind_and_revision() -> None:
    (one,) = snippets.hf(HUB, "a/b", is_dataset=True, revision="v 1")
    assert one.text.endswith("hf download a/b --repo-type dataset --revision 'v 1'")


def test_a_clone_needs_large_file_support() -> None:
    assert snippets.git(f"{HUB}/a/b")[0].text == f"git lfs install\ngit clone {HUB}/a/b"
