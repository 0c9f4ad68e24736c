"""Where a card contradicts the files: the record says what was computed, and this says so.

A license is no computation: its owner declares it, and a text can be taken for another.
"""

import re
from dataclasses import dataclass

from registry.errors import Invalid
from registry.fair.card.library import disproof
from registry.fair.card.values import CardReader, CardValue
from registry.fair.parts import Network
from registry.validation.card import Card
from registry.validation.findings import CardFinding
from registry.validation.license import license_of, simple_ids
from registry.validation.license_text import recognise

_PARAMETERS = ("parameters", "num_parameters", "model_size")
_OPSETS = ("opset", "opset_version", "onnx_opset")
_AMOUNT = re.compile(r"([0-9]+(?:\.([0-9]+))?)\s*([kmbt]?)(?:\s*param(?:eter)?s)?", re.IGNORECASE)
_SCALE = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
_FIX = "The record says what the files say; correct the card, or the files."
_FIX_LICENSE = "The record says what the card says; make both say the same."


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """What the files of a version say.

    Attributes:
        network: As inspection found it.
        paths: Of all files.
        license_text: Of the file LICENSE, or its beginning.
    """

    network: Network | None = None
    paths: tuple[str, ...] = ()
    license_text: str = ""


def contradictions(card: Card, computed: Computed) -> tuple[CardFinding, ...]:
    """Warnings, by line."""
    notes = CardReader(card)
    _compare_library(notes, computed)
    _compare_license(notes, computed)
    if computed.network is not None:
        _compare_parameters(notes, computed.network)
        _compare_opset(notes, computed.network)
    return tuple(sorted(notes.findings, key=lambda found: found.line))


def _compare_library(notes: CardReader, computed: Computed) -> None:
    place = notes.top("library_name")
    found = disproof(place.text() or "", computed.paths)
    if found:
        _contradicts(place, f"names {place.text()}, but {found}")


def _compare_license(notes: CardReader, computed: Computed) -> None:
    found = recognise(computed.license_text)
    try:
        expression = license_of(notes.card.values)
    except Invalid:
        # Who reads the card is told already.
        return
    if found and expression and not any(one.startswith(found) for one in simple_ids(expression)):
        place = notes.top("license")
        what = f"is {expression}, but the file LICENSE holds {found.rstrip('-')}"
        _contradicts(place, what, _FIX_LICENSE)


def _compare_parameters(notes: CardReader, network: Network) -> None:
    for key in _PARAMETERS:
        place = notes.top(key)
        match = _AMOUNT.fullmatch((place.text() or "").replace(",", "").replace("_", ""))
        if match is None:
            continue
        scale = _SCALE[match[3].casefold()]
        # What is written as 1.2M is somewhere within half of its last digit; people also cut.
        slack = scale * 10 ** -len(match[2] or "") if scale > 1 else 0
        if abs(float(match[1]) * scale - network.parameters) > slack:
            _contradicts(place, f"says {place.text()}, but the network has {network.parameters}")


def _compare_opset(notes: CardReader, network: Network) -> None:
    opset = network.opsets.get("ai.onnx")
    for key in _OPSETS:
        place = notes.top(key)
        said = place.number()
        if opset is not None and said is not None and said != opset:
            _contradicts(place, f"says {place.text()}, but the network uses {opset}")


def _contradicts(place: CardValue, what: str, fix: str = _FIX) -> None:
    place.note("card_contradicts_files", f"{place.field} {what}.", fix, "warning")
