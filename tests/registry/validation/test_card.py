"""Cards: what is read, what is kept, and what a stranger's YAML cannot do."""

import json
import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.errors import Invalid
from registry.validation.card import MAX_CARD_BYTES, body_of, parse

CARD = b"""---
license: apache-2.0
pipeline_tag: image-classification
library_name: onnx
model_name: Galaxy CNN
tags: [astronomy, cnn, astronomy, 2024]
language: no
datasets: galaxy-zoo
base_model: [lab/resnet]
released: 2024-05-01
started: 12:30:00
model-index:
- name: x
  results: [{value: 0.5, verified: true, note: null}]
---
# Galaxies

[![badge](https://example.org/b.svg)](https://example.org)

> Not this quotation.

Sorts *galaxies* by
`shape`, see [the paper](https://example.org).

Not this paragraph.
"""


def refusal(data: bytes) -> str:
    with pytest.raises(Invalid) as caught:
        parse(data)
    assert caught.value.code == "invalid_card"
    return caught.value.detail


def test_what_the_hub_reads_is_read() -> None:
    card = parse(CARD)
    assert card.title == "Galaxy CNN"
    assert card.task == "image-classification"
    assert card.library == "onnx"
    assert card.tags == ["astronomy", "cnn", "2024"]
    assert card.description == "Sorts galaxies by shape, see the paper."
    assert card.body.startswith("# Galaxies\n")


def test_what_the_hub_does_not_read_is_kept_as_written() -> None:
    values = parse(CARD).values
    assert values["model-index"] == [
        {"name": "x", "results": [{"value": 0.5, "verified": True, "note": None}]}
    ]
    # YAML 1.1 would make a boolean, a date and a number of seconds of these.
    assert (values["language"], values["released"]) == ("no", "2024-05-01")
    assert values["started"] == "12:30:00"


class Quoting(yaml.SafeDumper):
    """Quotes every text: PyYAML leaves those bare that are numbers in YAML 1.2 alone."""


Quoting.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=5), inner),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(st.text("xyz_", min_size=1, max_size=8), json_values, max_size=5))
def test_any_json_written_as_yaml_comes_back(values: dict[str, Any]) -> None:
    matter = yaml.dump(values, Dumper=Quoting, allow_unicode=True)
    parsed = parse(f"---\n{matter}---\n".encode()).values
    assert json.loads(json.dumps(parsed, allow_nan=False)) == values


@settings(deadline=None)
@given(st.binary(max_size=200).map(lambda data: b"---\n" + data + b"\n---\n") | st.binary())
def test_any_bytes_are_read_or_refused_and_what_is_read_is_json(data: bytes) -> None:
    try:
        card = parse(data)
    except Invalid:
        return
    json.dumps(card.values, allow_nan=False)
    assert "\0" not in json.dumps(card.values) + card.description


@pytest.mark.parametrize(
    ("data", "line", "why"),
    [
        (b"---\nlicense: mit\n", 1, "no closing"),
        (b"\n\n---\nlicense: mit\n", 3, "no closing"),
        (b"---\n- a\n- b\n---\n", 2, "'key: value'"),
        (b"---\nhello\n---\n", 2, "'key: value'"),
        (b"---\na: 1\nb: 2\na: 3\n---\n", 4, "is repeated"),
        (b"---\na: 1\nb: {c: 1, c: 2}\n---\n", 3, "is repeated"),
        (b"---\na: [1, 2\nb: 3\n---\n", 3, "not YAML"),
        (b"---\na: b\n\tc: d\n---\n", 3, "not YAML"),
        (b"---\na: *nowhere\n---\n", 2, "undefined alias"),
        (b"---\na: &a [*a]\n---\n", 2, "part of"),
        (b"---\na: 1\nb: !!python/object/apply:os.system [ls]\n---\n", 3, "tag"),
        (b"---\na: !!binary aGk=\n---\n", 2, "tag"),
        (b"---\n? [a, b]\n: c\n---\n", 2, "a key must be a text"),
        (b"---\na: 1\nb: x\x07y\n---\n", 3, "U+0007"),
        (b'---\na: "\\0"\n---\n', 2, "U+0000"),
        (b"---\na: \xff\n---\n", 2, "UTF-8"),
        (b"---\na: 1\ntags: {x: 1}\n---\n", 3, "'tags' must be"),
        (b"---\ntags: [[x]]\n---\n", 2, "'tags' must be"),
        (b"---\nlicense_name: [a, b]\n---\n", 2, "'license_name' must be one text"),
        (b"---\npipeline_tag: " + b"x" * 101 + b"\n---\n", 2, "longer than 100"),
        (b"---\ntags: [" + b"x, " * 1001 + b"]\n---\n", 2, "more than 1000"),
        (b"x" * (MAX_CARD_BYTES + 1), 1, "1048577 bytes"),
        (b"---\na: " + b"[" * 100_000 + b"\n---\n", 2, "nested deeper"),
        (b"---\na: " + b"{b: " * 1000 + b"\n---\n", 2, "nested deeper"),
    ],
)
def test_a_bad_card_is_refused_by_its_line(data: bytes, line: int, why: str) -> None:
    detail = refusal(data)
    assert f"line {line}:" in detail
    assert why in detail


def test_aliases_that_multiply_are_refused_in_no_time() -> None:
    laughs = ["a: &a [x,x,x,x,x,x,x,x,x,x]"]
    laughs += [
        f"{n}: &{n} [{','.join(['*' + b] * 10)}]" for b, n in zip("abcdefg", "bcdefgh", strict=True)
    ]
    # Of this thread alone: a busy machine is no fault of the parser.
    started = time.thread_time()
    detail = refusal("\n".join(["---", *laughs, "---"]).encode())
    assert "aliases counted as often as used" in detail
    assert time.thread_time() - started < 2


def test_an_alias_used_twice_is_fine() -> None:
    assert parse(b"---\na: &x [1]\nb: *x\n---\n").values == {"a": [1], "b": [1]}


@pytest.mark.parametrize("data", [b"", b"# Only text\n", b"---\n---\n", b"---\n# a comment\n---\n"])
def test_a_card_may_be_empty(data: bytes) -> None:
    card = parse(data)
    assert card.values == {}
    assert (card.title, card.task, card.library, card.tags) == ("", "", "", [])


def test_windows_line_ends_and_a_byte_order_mark_are_taken() -> None:
    card = parse(b"\xef\xbb\xbf---\r\nlicense: mit\r\n---\r\nText.\r\n")
    assert card.values == {"license": "mit"}
    assert card.description == "Text."


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("yes", "yes"),
        ("on", "on"),
        ("True", True),
        ("~", None),
        ("010", 10),
        ("0x1F", 31),
        ("0o17", 15),
        ("1_000", "1_000"),
        ("1e3", 1000.0),
        (".5", 0.5),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("1e999", "1e999"),
        ("9" * 5000, "9" * 5000),
        ("!!str 5", "5"),
        ("'5'", "5"),
    ],
)
def test_scalars_follow_yaml_1_2_and_stay_json(written: str, read: Any) -> None:
    assert parse(f"---\na: {written}\n---\n".encode()).values == {"a": read}


def test_the_description_is_plain_and_bounded() -> None:
    body = "<!-- hidden -->\n\n## Title\n\n- a list\n\n" + "word " * 1000
    description = parse(body.encode()).description
    assert description.startswith("word word")
    assert len(description) <= 2000


def test_the_body_is_found_under_a_broken_card_too() -> None:
    assert body_of("---\na: [\n---\nText\n") == "Text\n"
    assert body_of("\ufeff---\r\na: 1\r\n---\r\nText") == "Text"
    assert body_of("Text\n") == "Text\n"
