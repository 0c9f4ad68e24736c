"""Parts of a person's name, for formats that keep given names and family names apart.

Cards hold one text per name. ``Family, Given`` and ``Family, Suffix, Given`` are unambiguous. In a
name without a comma, the last word is the family name, together with the particles before it, as in
BibTeX; a suffix such as ``Jr.`` is set apart, and names in East Asian scripts begin with the family
name. Authors write a comma where this rule does not fit, as for two Spanish family names.
"""

import re
from dataclasses import dataclass

_PARTICLES = frozenset(
    (
        *("af", "al", "auf", "aus", "av", "ben", "bin", "d'", "da", "dal", "das", "de", "degli"),
        *("dei", "del", "della", "den", "der", "des", "di", "do", "dos", "du", "el", "ibn", "la"),
        *("las", "le", "les", "lo", "los", "'s", "'t", "te", "ten", "ter", "tot", "und", "van"),
        *("ver", "vom", "von", "y", "zu", "zum", "zur"),
    )
)  # fmt: skip
_SUFFIX = re.compile(r"(?:jr|sr|jnr|snr)\.?|II|III|IV", re.IGNORECASE)
#: Hangul, Kana and Han: the family name comes first. A transcribed name is in Western order.
_FAMILY_FIRST = re.compile("[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


@dataclass(frozen=True, slots=True)
class NameParts:
    """Parts of a name, ``""`` where absent; a name of one word is a family name."""

    family: str
    given_names: str = ""
    particle: str = ""
    suffix: str = ""


def name_parts(name: str) -> NameParts:
    """The parts of a person's name as it stands in a card."""
    pieces = [" ".join(piece.split()) for piece in name.split(",")]
    if all(pieces) and 2 <= len(pieces) <= 3:
        return _of_pieces(pieces)
    if len(pieces) > 1:
        return NameParts(family=name.strip())
    words = pieces[0].split()
    if len(words) > 1 and _FAMILY_FIRST.match(pieces[0]):
        return NameParts(family=words[0], given_names=" ".join(words[1:]))
    suffix = words.pop() if len(words) > 2 and _SUFFIX.fullmatch(words[-1]) else ""
    start = max(len(words) - 1, 0)
    while start > 1 and words[start - 1].casefold() in _PARTICLES:
        start -= 1
    particle, family = _family(words[start:])
    return NameParts(family, " ".join(words[:start]), particle, suffix)


def _of_pieces(pieces: list[str]) -> NameParts:
    """``Family, Given``, ``Family, Suffix, Given`` or ``Given Family, Suffix``."""
    if len(pieces) == 2 and _SUFFIX.fullmatch(pieces[1]):
        whole = name_parts(pieces[0])
        return NameParts(whole.family, whole.given_names, whole.particle, pieces[1])
    particle, family = _family(pieces[0].split())
    return NameParts(family, pieces[-1], particle, pieces[1] if len(pieces) == 3 else "")


def _family(words: list[str]) -> tuple[str, str]:
    """Leading particles in lower case, and the rest: ``De Niro`` is one family name."""
    start = 0
    while start < len(words) - 1 and words[start].islower() and words[start] in _PARTICLES:
        start += 1
    return " ".join(words[:start]), " ".join(words[start:])
