"""Reads the blocks of code that people copy from pages, and runs them."""

import json
import re
import subprocess
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from tests.snippets import session
from tests.snippets.environments import environment_of, variables

#: Languages of blocks that are run.
_LANGUAGES = ("sh", "python")
_INSTALL = re.compile(r"^pip install .+$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code; ``language`` is ``sh`` or ``python``."""

    language: str
    text: str


def blocks_of_page(html: str) -> dict[str, list[Block]]:
    """The groups of snippets on a page by their ``data-snippet``; a group is run in order."""
    reader = _PageReader()
    reader.feed(html)
    return reader.groups


def run(blocks: list[Block], home: Path, typed: str = "") -> str:
    """Run blocks in order in the environment that their own install lines make.

    Args:
        home: Home folder and first working folder.
        typed: What a person types when commands ask.

    Returns:
        What they wrote to stdout.

    Raises:
        AssertionError: a block failed; the message has what it wrote.
    """
    shell = "\n".join(block.text for block in blocks if block.language == "sh")
    environment = environment_of(_INSTALL.findall(shell))
    home.mkdir(parents=True, exist_ok=True)
    listed = home / "blocks.json"
    listed.write_text(json.dumps([[block.language, block.text] for block in blocks]))
    done = subprocess.run(
        [str(environment / "bin/python"), session.__file__, str(listed)],
        env=variables(environment, home),
        input=typed,
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{blocks}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    return done.stdout


class _PageReader(HTMLParser):
    """Collects ``code`` elements by the nearest ``data-snippet`` before them."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: dict[str, list[Block]] = {}
        self._key = ""
        self._language = ""
        self._text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._key = values.get("data-snippet", self._key)
        language = values.get("class", "").removeprefix("language-")
        if tag == "code" and language in _LANGUAGES:
            self._language, self._text = language, []

    def handle_data(self, data: str) -> None:
        if self._language:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "code" and self._language:
            block = Block(self._language, "".join(self._text))
            self.groups.setdefault(self._key, []).append(block)
            self._language = ""
