"""Warnings where a card contradicts the files. Records have the computed facts instead, except for
the licence, which only the card declares."""

import re
from dataclasses import dataclass

from registry.errors import Invalid
from registry.fair.card.library import disproof
from registry.fair.card.values import CardReader, CardValue
from registry.fair.parts import NetworkDescription
from registry.validation.card import Card
from registry.validation.findings import CardFinding
from registry.validation.license import license_of, simple_ids
from registry.validation.license_text import recognise

_PARAMETERS = ("parameters", "num_parameters", "model_size")
_OPSETS = ("opset", "opset_version", "onnx_opset")
_AMOUNT = re.compile(r"([0-9]+(?:\.([0-9]+))?)\s*([kmbt]?)(?:\s*param(?:eter)?s)?", re.IGNORECASE)
_SCALE = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
_FIX = "The record has the facts of the files; correct the card or the files."
_FIX_LICENSE = "The record has the license of the card; make card and file agree."


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """Facts about the files of a version; ``license_text`` is the start of the file LICENSE."""

    network: NetworkDescription | None = None
    paths: tuple[str, ...] = ()
    license_text: str = ""


def contradictions(card: Card, computed: Computed) -> tuple[CardFinding, ...]:
    """Warnings, sorted by line."""
    reader = CardReader(card)
    _compare_library(reader, computed)
    _compare_license(reader, computed)
    if computed.network is not None:
        _compare_parameters(reader, computed.network)
        _compare_opset(reader, computed.network)
    return tuple(sorted(reader.findings, key=lambda one: one.line))


def _compare_library(reader: CardReader, computed: Computed) -> None:
    value = reader.top("library_name")
    reason = disproof(value.text() or "", computed.paths)
    if reason:
        _contradicts(value, f"names {value.text()}, but {reason}")


def _compare_license(reader: CardReader, computed: Computed) -> None:
    recognised = recognise(computed.license_text)
    try:
        expression = license_of(reader.card.values)
    except Invalid:
        # Already a finding of the card.
        return
    if not recognised or not expression:
        return
    if not any(one.startswith(recognised) for one in simple_ids(expression)):
        what = f"is {expression}, but the file LICENSE contains {recognised.rstrip('-')}"
        _contradicts(reader.top("license"), what, _FIX_LICENSE)


def _compare_parameters(reader: CardReader, network: NetworkDescription) -> None:
    for key in _PARAMETERS:
        value = reader.top(key)
        match = _AMOUNT.fullmatch((value.text() or "").replace(",", "").replace("_", ""))
        if match is None:
            continue
        scale = _SCALE[match[3].casefold()]
        # 1.2M may be rounded or truncated: it may differ by one unit of its last digit.
        tolerance = scale * 10 ** -len(match[2] or "") if scale > 1 else 0
        if abs(float(match[1]) * scale - network.parameters) > tolerance:
            _contradicts(value, f"says {value.text()}, but the network has {network.parameters}")


def _compare_opset(reader: CardReader, network: NetworkDescription) -> None:
    opset = network.opsets.get("ai.onnx")
    for key in _OPSETS:
        value = reader.top(key)
        stated = value.number()
        if opset is not None and stated is not None and stated != opset:
            _contradicts(value, f"says {value.text()}, but the network uses {opset}")


def _contradicts(value: CardValue, what: str, fix: str = _FIX) -> None:
    value.note("card_contradicts_files", f"{value.field} {what}.", fix, "warning")
