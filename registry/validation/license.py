"""The license of a card as an SPDX expression.

Cards use Hugging Face's lower-case ids. Most are SPDX ids in lower case; the others name texts that
SPDX does not list, and become ``LicenseRef-<id>`` as SPDX specifies.
"""

import difflib
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from license_expression import ExpressionError, LicenseSymbol, Licensing, get_spdx_licensing

from registry.errors import Invalid
from registry.validation.card import Card

MAX_LENGTH = 200
_LICENSE_REF = re.compile(r"(?:DocumentRef-[A-Za-z0-9.-]+:)?LicenseRef-[A-Za-z0-9.-]+")
_HINT = (
    "Write an SPDX expression such as apache-2.0 or 'MIT OR Apache-2.0', or 'other' together "
    "with license_name."
)

# Source: the table of licenses in the Hugging Face Hub's documentation on repository cards.
_HF_TO_SPDX = {
    "apple-ascl": "AML",
    "odc-by": "ODC-By-1.0",
    "odbl": "ODbL-1.0",
    "pddl": "PDDL-1.0",
    "lgpl-lr": "LGPLLR",
    "c-uda": "C-UDA-1.0",
}
_HF_WITHOUT_SPDX = frozenset(
    {
        "apple-amlr", "bigcode-openrail-m", "bigscience-bloom-rail-1.0", "bigscience-openrail-m",
        "bsd", "cc", "creativeml-openrail-m", "deepfloyd-if-license",
        "fair-noncommercial-research-license", "gemma", "gfdl", "gpl", "grok2-community",
        "h-research", "intel-research", "lgpl", "llama2", "llama3", "llama3.1", "llama3.2",
        "llama3.3", "llama4", "openmdw-1.0", "openrail", "openrail++",
    }
)  # fmt: skip


def license_of(card: Mapping[str, Any]) -> str:
    """The SPDX expression of a card's values, "" without a license.

    Several licenses in a list are joined by AND. ``other`` needs ``license_name``. Raises
    ``Invalid``: ``license_unknown``.
    """
    value = card.get("license")
    ids = value if isinstance(value, list) else [value]
    parts = [_one(str(one).strip(), card) for one in ids if one is not None]
    parts = [part for part in parts if part]
    if len(parts) > 1:
        parts = [str(_licensing().parse(" AND ".join(f"({part})" for part in parts)))]
    expression = "".join(parts)
    if len(expression) > MAX_LENGTH:
        raise _unknown(expression, f"it is longer than {MAX_LENGTH} characters")
    return expression


def simple_ids(expression: str) -> list[str]:
    """The licenses of an expression in its order, without exceptions."""
    symbols = _licensing().license_symbols(_licensing().parse(expression), decompose=True)
    return [symbol.key for symbol in symbols if not symbol.is_exception]


def license_missing(card: Mapping[str, Any]) -> Invalid:
    """The error ``license_missing`` for a card without a license."""
    if str(card.get("license")).lower() == "other":
        return Invalid(
            "license_missing",
            "'license: other' needs a name.",
            "Add 'license_name: <name>' and, if you can, 'license_link: <address or file>'.",
            fields={"license_name": "missing"},
        )
    return Invalid(
        "license_missing",
        "The card has no license, so nobody is permitted to use the model.",
        "Put a line such as 'license: apache-2.0' between '---' lines at the top of README.md.",
        fields={"license": "missing"},
    )


def license_in(card: Card) -> str:
    """The SPDX expression of a card, "" without a license.

    Raises ``Invalid``: ``license_unknown``, with the line.
    """
    try:
        return license_of(card.values)
    except Invalid as error:
        line = card.lines.get("license", 1)
        detail = f"README.md, line {line}: {error.detail}"
        raise Invalid(error.code, detail, error.hint, fields=error.fields) from error


def _one(text: str, card: Mapping[str, Any]) -> str:
    lower = text.lower()
    # Hugging Face's value for no license.
    if lower in {"", "unknown"}:
        return ""
    if lower == "other":
        return _named(card)
    if lower in _HF_TO_SPDX:
        return _HF_TO_SPDX[lower]
    if lower in _HF_WITHOUT_SPDX:
        return f"LicenseRef-{lower.replace('+', '-plus')}"
    return _spdx(text)


def _named(card: Mapping[str, Any]) -> str:
    name = str(card.get("license_name") or "")
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.")
    return f"LicenseRef-{slug}" if slug else ""


def _spdx(text: str) -> str:
    if len(text) > MAX_LENGTH:
        raise _unknown(text, f"it is longer than {MAX_LENGTH} characters")
    try:
        parsed = _licensing().parse(text, strict=True)
        unknown = [
            symbol.key
            for symbol in _licensing().license_symbols(parsed)
            if symbol.key not in _licensing().known_symbols
            and not _LICENSE_REF.fullmatch(symbol.key)
        ]
    except ExpressionError as error:
        raise _unknown(text, str(error)) from error
    if unknown:
        raise _unknown(text, f"{unknown[0]!r} is not an SPDX id", like=unknown[0])
    return str(parsed)


def _unknown(text: str, why: str, *, like: str = "") -> Invalid:
    near = difflib.get_close_matches(like.lower(), _spellings(), n=1, cutoff=0.75) if like else []
    hint = f"Did you mean {_spellings()[near[0]]!r}? {_HINT}" if near else _HINT
    return Invalid(
        "license_unknown",
        f"The license {text[:100]!r} is unknown: {why}.",
        hint,
        fields={"license": why},
    )


@cache
def _licensing() -> Licensing:
    return get_spdx_licensing()


@cache
def _spellings() -> dict[str, str]:
    """Known ids in lower case to their proper spelling."""
    spdx: dict[str, LicenseSymbol] = _licensing().known_symbols
    return {key.lower(): key for key in spdx} | {key: key for key in _HF_WITHOUT_SPDX}
