"""Puts values into README.md's front matter and leaves the rest as its author wrote it.

Each key of a card that is written in block style has lines of its own; those of the changed keys
are replaced, so comments, order, quotes, line ends and unknown keys elsewhere stay byte by byte.
What cannot be edited so (a card in flow style, an anchor that another key uses) is written anew:
its values stay, its comments do not.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import yaml

from registry.errors import Invalid
from registry.validation.card import parse, split
from registry.validation.yaml_spans import Span, spans
from registry.validation.yaml_tree import RESOLVERS

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_MARK = "\ufeff"


def edit(readme: str, changes: Mapping[str, Any]) -> str:
    """README.md with some of its card's values changed.

    Args:
        readme: The whole file.
        changes: Key to its new value, which is what JSON can hold; ``None`` removes the key.

    Raises:
        Invalid: ``invalid_card``, of ``readme``, or of what it would become.
    """
    old = _parsed(readme)
    removed = {key for key, value in changes.items() if value is None}
    wanted = {key: value for key, value in {**old, **changes}.items() if key not in removed}
    changed = {key: value for key, value in changes.items() if _is_change(old, key, value)}
    if not changed:
        return readme
    before, matter, after, end = _parts(readme)
    edited = before + _spliced(matter, changed).replace("\n", end) + after
    try:
        if _parsed(edited) == wanted:
            return edited
    except Invalid:
        pass
    rewritten = before + _written(wanted).replace("\n", end) + after
    _parsed(rewritten)
    return rewritten


def _parsed(readme: str) -> dict[str, Any]:
    # A lone surrogate, which JSON can spell, is no text: the card's own check says so.
    return parse(readme.encode("utf-8", "surrogatepass")).values


def _is_change(old: Mapping[str, Any], key: str, value: Any) -> bool:
    if key not in old or value is None:
        return (key in old) == (value is None)
    # Compared as they are spelled: to Python, true is 1.
    return json.dumps(old[key]) != json.dumps(value)


def _parts(readme: str) -> tuple[str, str, str, str]:
    """What stands up to the front matter, the front matter with ``\\n`` as its line ends, what
    follows it, and how lines end."""
    mark = _MARK if readme.startswith(_MARK) else ""
    lines = _LINE.findall(readme.removeprefix(_MARK))
    _, opened, closed = split(readme)
    if opened is None or closed is None:
        end = _end_of(lines[0]) or "\n"
        return f"{mark}---{end}", "", f"---{end}{readme.removeprefix(_MARK)}", end
    end = _end_of(lines[opened])
    matter = "".join(line.rstrip("\r\n") + "\n" for line in lines[opened + 1 : closed])
    before = mark + "".join(lines[: opened + 1])
    return before, matter, "".join(lines[closed:]), end


def _end_of(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _spliced(matter: str, changed: Mapping[str, Any]) -> str:
    """``matter`` with the lines of the changed keys replaced, removed, or put at its end."""
    pieces = []
    kept_to = 0
    there = spans(matter)
    for span in there:
        if span.key not in changed:
            continue
        start, stop, comment = _lines_of(matter, span)
        pieces.append(matter[kept_to:start])
        kept_to = stop
        if changed[span.key] is not None:
            indent = " " * (span.start - start)
            pieces.append(_commented(_written({span.key: changed[span.key]}, indent), comment))
    pieces.append(matter[kept_to:])
    known = {span.key for span in there}
    new = {key: value for key, value in changed.items() if key not in known}
    indent = " " * (there[0].start - _lines_of(matter, there[0])[0]) if there else ""
    pieces += [_written({key: value}, indent) for key, value in new.items()]
    return "".join(pieces)


def _lines_of(matter: str, span: Span) -> tuple[int, int, str]:
    """Where the key's lines begin and end, and the comment behind its value."""
    start = matter.rfind("\n", 0, span.start) + 1
    if span.is_block:
        # The blank lines below a text are not said by it, but when it ends in them.
        text = matter[start : span.stop]
        return start, start + len(text.rstrip()) + 1, ""
    stop = matter.find("\n", span.stop) + 1
    return start, stop, matter[span.stop : stop].strip()


def _commented(written: str, comment: str) -> str:
    if not comment:
        return written
    first, _, rest = written.partition("\n")
    return f"{first} {comment}\n{rest}"


class _Dumper(yaml.SafeDumper):
    """Quotes what either YAML 1.1 or 1.2 would read as something else than a text."""

    def ignore_aliases(self, data: Any) -> bool:
        """Values are written out as often as they occur."""
        del data
        return True


for _name, _pattern, _first in RESOLVERS:
    _Dumper.add_implicit_resolver(_name, _pattern, _first)


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    lines = text.split("\n")
    # Where a block's first line is indented, or a line holds what is not seen, quotes are safer.
    is_plain = all(line.isprintable() and line == line.strip() for line in lines)
    style = "|" if len(lines) > 1 and is_plain and lines[0] else None
    if style is None and not text.isprintable():
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def _written(values: Mapping[str, Any], indent: str = "") -> str:
    """The values in block style, each line indented."""
    if not values:
        return ""
    text: str = yaml.dump(
        dict(values), Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=math.inf
    )
    return re.sub("^(?=.)", indent, text, flags=re.MULTILINE) if indent else text
