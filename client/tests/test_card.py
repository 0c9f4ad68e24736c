"""Cards: values go into the front matter, and what was there stays."""

import pytest
import yaml

from hpcfair.card import merge, parse, require_license
from hpcfair.errors import BadCard, LicenseMissing

README = "---\nlicense: mit\n# why mit\ntags: [a, b]\n---\n# Title\n\nText.\n"


def test_without_values_the_text_stays_to_the_byte() -> None:
    assert merge(README, None, name="lab/cnn") == README


def test_values_are_added_and_the_rest_stays() -> None:
    merged = merge(README, {"task": "image-classification"}, name="lab/cnn")

    assert parse(merged) == (
        {"license": "mit", "tags": ["a", "b"], "pipeline_tag": "image-classification"},
        "# Title\n\nText.\n",
    )


def test_a_given_value_replaces_the_old_one() -> None:
    assert parse(merge(README, {"license": "apache-2.0"}, name="lab/cnn"))[0]["license"] == (
        "apache-2.0"
    )


def test_a_new_card_has_a_heading_and_a_description() -> None:
    card = {"license": "mit", "title": "Galaxies", "description": "Sorts them.", "library": "onnx"}

    values, body = parse(merge(None, card, name="lab/cnn"))

    assert values == {"license": "mit", "title": "Galaxies", "library_name": "onnx"}
    assert body == "# Galaxies\n\nSorts them.\n"


def test_a_new_card_without_a_title_is_headed_by_the_models_name() -> None:
    assert parse(merge(None, {"license": "mit"}, name="lab/cnn"))[1] == "# cnn\n"


def test_a_whole_text_may_be_given() -> None:
    assert parse(merge(None, {"readme": "# My own\n"}, name="lab/cnn")) == ({}, "# My own\n")


def test_text_without_front_matter_gains_one() -> None:
    merged = merge("# Title\n", {"license": "mit"}, name="lab/cnn")

    assert merged == "---\nlicense: mit\n---\n# Title\n"


def test_letters_of_all_scripts_stay_readable() -> None:
    assert "Zürich 銀河" in merge(None, {"title": "Zürich 銀河"}, name="lab/cnn")


def test_windows_lines_are_read() -> None:
    assert parse(README.replace("\n", "\r\n"))[0]["license"] == "mit"


@pytest.mark.parametrize("front", ["a: [", "- a\n- b", "just words"])
def test_front_matter_that_is_no_mapping_is_refused(front: str) -> None:
    with pytest.raises(BadCard, match="front matter"):
        parse(f"---\n{front}\n---\n")


def test_a_yaml_object_tag_runs_nothing() -> None:
    with pytest.raises(BadCard):
        parse("---\nx: !!python/object/apply:os.system [echo]\n---\n")


@pytest.mark.parametrize(
    "text", ["", "# Only text\n", "---\ntags: [a]\n---\n", "---\nlicense:\n---\n"]
)
def test_a_card_without_a_license_is_refused(text: str) -> None:
    with pytest.raises(LicenseMissing, match=r"apache-2.0.*\[license_missing\]"):
        require_license(text)


def test_front_matter_written_here_is_read_by_any_yaml() -> None:
    tricky = {"license": "mit", "title": "yes: no # maybe", "tags": ["1.0", "null"]}

    front = merge(None, tricky, name="lab/cnn").split("---\n")[1]

    assert yaml.safe_load(front) == tricky
