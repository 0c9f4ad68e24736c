import os
import subprocess

import pytest
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils._validators import validate_repo_id
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.errors import Invalid
from registry.ids import RESERVED_NAMESPACES
from registry.validation.names import check_name, check_namespace, check_ref
from registry.validation.texts import check_text
from tests.programs import needs


@pytest.mark.parametrize("name", ["a", "galaxy-cnn", "Llama_3.2-1B", "0", "x" * 96])
def test_a_usual_name_is_taken(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "-a",
        "a-",
        ".a",
        "a.",
        "a--b",
        "a..b",
        "a/b",
        "a b",
        "é",
        "x" * 97,
        "a.git",
        "a\n",
    ],
)
def test_an_unusual_name_is_refused(name: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_name(name)
    assert caught.value.code == "invalid_name"


@given(st.text("aZ0._-/ é\n", max_size=12) | st.text(max_size=8))
def test_every_name_we_take_is_one_the_hugging_face_client_takes(name: str) -> None:
    try:
        check_name(name)
    except Invalid:
        return
    try:
        validate_repo_id(f"lab/{name}")
    except HFValidationError as error:
        pytest.fail(str(error))


@pytest.mark.parametrize("name", sorted(RESERVED_NAMESPACES))
def test_an_address_of_the_hub_names_no_namespace(name: str) -> None:
    with pytest.raises(Invalid):
        check_namespace(name.upper())


@pytest.mark.parametrize("name", ["main", "v1.0", "feature/fast-conv", "refs", "日本", "abcdef"])
def test_a_usual_branch_name_is_taken(name: str) -> None:
    assert check_ref(name) == name


@pytest.mark.parametrize(
    "name", ["refs/heads/x", "0123456", "deadbeef" * 5, "HEAD", "-x", "x" * 201, "a\u200b", "a/"]
)
def test_a_branch_name_that_misleads_is_refused(name: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_ref(name)
    assert caught.value.code == "invalid_ref"


@needs("git")
@settings(max_examples=150, deadline=None)
@given(st.text("ab./~^:@{\\ -*[?\x7f\t", max_size=6) | st.text(max_size=5))
def test_every_branch_name_we_take_is_one_git_takes(name: str) -> None:
    try:
        check_ref(name)
    except Invalid:
        return
    check = ["git", "check-ref-format", f"refs/heads/{name}"]
    assert subprocess.run(check, check=False, env={"PATH": os.environ["PATH"]}).returncode == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("x" * 11, "longer"),
        ("a\nb", "control"),
        ("a\u2028b", "control"),
        ("a\ud800", "control"),
    ],
)
def test_a_text_that_does_not_fit_is_refused_by_its_field(text: str, why: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_text(text, field="title", most=10, least=1)
    assert why in caught.value.fields["title"]


def test_a_text_in_any_script_is_taken() -> None:
    for text in ("Größe 3", "銀河\u3000分類"):
        assert check_text(text, field="title", most=10) == text
