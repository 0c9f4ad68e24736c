"""Cards that are made to be costly are refused or read in bounded time."""

import json
import time

import pytest
from django.test import Client

from registry.validation.card import MAX_CARD_BYTES
from registry.validation.card_faults import card_faults

#: Seconds that one card may take at most, on a machine that does other things too.
PATIENCE_S = 20.0
_N = MAX_CARD_BYTES - 100


def filled(piece: str, *, start: str = "", end: str = "") -> str:
    """As many repetitions as a card may have."""
    return start + piece * ((_N - len(start) - len(end)) // len(piece)) + end


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
MATTERS = {
    "alias bomb": LAUGHS,
    "aliases": "a: &a [x]\nb: [" + filled("*a,", end="]\n"),
    "alias of itself": "a: &a [*a]\n",
    "merge keys": "a: &a {b: c}\nd: {<<: *a, <<: *a}\n",
    "anchors": "a: [" + "".join(f"&a{n} x," for n in range(90_000)) + "]\n",
    "one anchor again and again": "a: [" + filled("&a x,", end="]\n"),
    "nested sequences": filled("["),
    "nested mappings": filled("{a: "),
    "nested blocks": "".join(" " * n + "a:\n" for n in range(1400)),
    "nested dashes": filled("- "),
    "nested questions": filled("? "),
    "a flow sequence": "a: [" + filled("x,", end="]\n"),
    "a flow mapping": "a: {" + "".join(f"k{n}: v," for n in range(80_000)) + "}\n",
    "an open flow": "a: [" + filled("x,"),
    "keys": "".join(f"k{n}: v\n" for n in range(80_000)),
    "equal keys": filled("k: v\n"),
    "a long key": filled("x", end=": v\n"),
    "a long scalar": "a: " + filled("x", end="\n"),
    "a long quoted scalar": 'a: "' + filled("x", end='"\n'),
    "a scalar of many lines": "a:\n" + filled("  x\n"),
    "a quoted scalar of many lines": 'a: "' + filled("\n\n x", end='"\n'),
    "an open quote": 'a: "' + filled("\\n x"),
    "escapes": 'a: "' + filled("\\x41", end='"\n'),
    "a block scalar": "a: |\n" + filled("  x\n"),
    "a folded scalar": "a: >\n" + filled("  x\n\n"),
    "comments": filled("# x\n") + "a: b\n",
    "a long comment": "a: b #" + filled("x", end="\n"),
    "indents": filled(" ", end="a: b\n"),
    "tabs": filled("\t", end="a: b\n"),
    "blank lines": filled("\n", end="a: b\n"),
    "tags": "a: [" + filled("!!str x,", end="]\n"),
    "a long tag": "a: !" + filled("x", end=" b\n"),
    "tag directives": "".join(f"%TAG !e{n}! tag:x,2000:\n" for n in range(30_000)),
    "documents": filled("...\n"),
    "colons": "a: " + filled(":", end="\n"),
    "commas": "a: [" + filled(",", end="]\n"),
    "numbers": "a: [" + filled("1e9,", end="]\n"),
    "a number": "a: " + filled("9", end="\n"),
    "hexadecimal": "a: 0x" + filled("f", end="\n"),
    "dots": "a: 1." + filled("1", end="e\n"),
    "line separators": "a: [" + filled("\u2028"[:1], end="]\n")[: _N // 3],
    "tag list": "tags: [" + filled("x,", end="]\n"),
    "license": "license: " + filled("MIT OR ", end="MIT\n"),
    "license parentheses": "license: " + filled("(", end="\n"),
    "model index": "model-index: [" + filled("{name: x, results: []},", end="]\n"),
    "language": "language: [" + filled("en,", end="]\n"),
}


@pytest.mark.parametrize("matter", MATTERS.values(), ids=MATTERS)
def test_no_front_matter_holds_a_worker(matter: str) -> None:
    began = time.monotonic()
    errors, warnings = card_faults(f"---\n{matter}\n---\n")
    assert time.monotonic() - began < PATIENCE_S
    assert sum(map(len, [*errors, *warnings])) < 10_000


@pytest.mark.parametrize("matter", MATTERS.values(), ids=MATTERS)
def test_no_front_matter_holds_the_validator(client: Client, matter: str) -> None:
    began = time.monotonic()
    body = json.dumps({"content": f"---\n{matter}\n---\n", "repoType": "model"})
    answer = client.post("/api/validate-yaml", body, content_type="application/json")
    assert time.monotonic() - began < PATIENCE_S
    assert answer.status_code in {200, 400, 413}
    assert len(answer.content) < 100_000


def test_a_card_over_the_limit_is_refused_before_it_is_parsed(client: Client) -> None:
    body = json.dumps({"content": "---\na: " + "[" * (2 * MAX_CARD_BYTES) + "\n---\n"})
    answer = client.post("/api/validate-yaml", body, content_type="application/json")
    assert answer.status_code == 400
    assert "a card may have" in answer.content.decode()
