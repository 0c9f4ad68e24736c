"""Licenses that let anyone pass a model on, by their ids in cards."""

#: In lower case. All permit redistribution, some under conditions that an unchanged copy with its
#: card keeps. Texts of single publishers (Llama, Gemma, RAIL) and ``other`` are absent: what they
#: permit must be read.
REDISTRIBUTABLE = frozenset(
    {
        *("apache-2.0", "mit", "isc", "zlib", "unlicense", "wtfpl", "bsl-1.0", "postgresql"),
        *("0bsd", "bsd-2-clause", "bsd-3-clause", "bsd-3-clause-clear", "ms-pl", "ncsa"),
        *("gpl-2.0", "gpl-3.0", "lgpl-2.1", "lgpl-3.0", "agpl-3.0", "mpl-2.0", "epl-1.0"),
        *("gpl-2.0-only", "gpl-2.0-or-later", "gpl-3.0-only", "gpl-3.0-or-later"),
        *("lgpl-2.1-only", "lgpl-2.1-or-later", "lgpl-3.0-only", "lgpl-3.0-or-later"),
        *("agpl-3.0-only", "agpl-3.0-or-later", "epl-2.0", "eupl-1.1", "eupl-1.2", "ecl-2.0"),
        *("artistic-2.0", "afl-3.0", "osl-3.0", "ofl-1.1", "cdla-permissive-1.0"),
        *("cdla-permissive-2.0", "cdla-sharing-1.0", "pddl", "odc-by", "odbl", "cc0-1.0"),
        *(f"cc-by-{version}" for version in ("2.0", "2.5", "3.0", "4.0")),
        *(f"cc-by-sa-{version}" for version in ("3.0", "4.0")),
    }
)


def is_redistributable(license_id: str) -> bool:
    """Whether everybody may pass on what has this license; false for what is not in the list."""
    return license_id.strip().lower() in REDISTRIBUTABLE
