"""The table in ``docs/reference/frameworks.md``.

::

    | model | versions | published files | checked | tuned | loaded | deviation | limit |
"""

from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "frameworks.md"
_FIRST = "| model |"


@dataclass(frozen=True, slots=True)
class Row:
    """A line as the page states it.

    Attributes:
        versions: Distribution to version.
        files: Published files, without samples, card and environment.
        deviation: Largest one that was seen.
        limit: What a test may see.
    """

    versions: dict[str, str]
    files: list[str]
    deviation: float
    limit: float


def rows() -> dict[str, Row]:
    """The table, by its first column."""
    lines = PAGE.read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(_FIRST))
    table: dict[str, Row] = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        title, versions, files, *_, deviation, limit = (
            cell.strip() for cell in line.split("|")[1:-1]
        )
        table[title] = Row(
            dict(part.split(" ") for part in versions.split(", ")),
            [file.strip("`") for file in files.split(", ")],
            float(deviation),
            float(limit),
        )
    return table
