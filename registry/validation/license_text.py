"""Recognition of common licenses by characteristic sentences of their text."""

import re

# The sentences are near the start of the text.
_MAX_CHARACTERS = 20_000
_IDENTIFIER = re.compile(r"SPDX-License-Identifier:\s*([A-Za-z0-9.+-]+)")
#: SPDX id and the sentences that its text contains, in lower case; the first match counts. If an id
#: ends in a hyphen, the text does not tell whether later versions are permitted.
_SENTENCES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Apache-2.0", ("apache license", "version 2.0, january 2004")),
    ("MPL-2.0", ("mozilla public license version 2.0",)),
    ("AGPL-3.0-", ("gnu affero general public license", "version 3, 19 november 2007")),
    ("LGPL-3.0-", ("gnu lesser general public license", "version 3, 29 june 2007")),
    ("LGPL-2.1-", ("gnu lesser general public license", "version 2.1, february 1999")),
    ("GPL-3.0-", ("gnu general public license", "version 3, 29 june 2007")),
    ("GPL-2.0-", ("gnu general public license", "version 2, june 1991")),
    ("CC-BY-NC-ND-4.0", ("attribution-noncommercial-noderivatives 4.0 international",)),
    ("CC-BY-NC-SA-4.0", ("attribution-noncommercial-sharealike 4.0 international",)),
    ("CC-BY-NC-4.0", ("attribution-noncommercial 4.0 international",)),
    ("CC-BY-ND-4.0", ("attribution-noderivatives 4.0 international",)),
    ("CC-BY-SA-4.0", ("attribution-sharealike 4.0 international",)),
    ("CC-BY-4.0", ("attribution 4.0 international",)),
    ("CC0-1.0", ("cc0 1.0 universal",)),
    ("Unlicense", ("free and unencumbered software released into the public domain",)),
    ("MIT", ("permission is hereby granted, free of charge, to any person obtaining a copy",)),
    ("ISC", ("permission to use, copy, modify, and/or distribute this software",)),
    ("BSD-3-Clause", ("redistributions of source code must retain", "neither the name of")),
    ("BSD-2-Clause", ("redistributions of source code must retain",)),
)


def recognise(text: str) -> str:
    """The SPDX id of the license text, or its prefix ending in a hyphen; "" if it is unknown."""
    match = _IDENTIFIER.search(text[:_MAX_CHARACTERS])
    if match:
        return match[1]
    plain = " ".join(text[:_MAX_CHARACTERS].casefold().split())
    return next(
        (license_ for license_, parts in _SENTENCES if all(part in plain for part in parts)), ""
    )
