"""Changes values in README.md's front matter and keeps everything else.

Keys in block style have lines of their own. Only the lines of changed keys are replaced, so that
comments, order, quotes and line ends elsewhere stay. A card that cannot be edited this way (flow
style, an anchor that another key uses) is rewritten without comments.
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
_BYTE_ORDER_MARK = "\ufeff"


def edit(readme: str, changes: Mapping[str, Any]) -> str:
    """README.md, given whole, with some of its card's values changed.

    ``changes`` maps keys to new JSON values; ``None`` removes the key. Raises ``Invalid``:
    ``invalid_card`` if ``readme`` or the result is not a valid card.
    """
    old = _parsed(readme)
    removed = {key for key, value in changes.items() if value is None}
    new = {key: value for key, value in {**old, **changes}.items() if key not in removed}
    changed = {key: value for key, value in changes.items() if _is_change(old, key, value)}
    if not changed:
        return readme
    before, matter, after, end = _parts(readme)
    edited = before + _spliced(matter, changed).replace("\n", end) + after
    try:
        if _parsed(edited) == new:
            return edited
    except Invalid:
        pass
    rewritten = before + _yaml(new).replace("\n", end) + after
    _parsed(rewritten)
    return rewritten


def _parsed(readme: str) -> dict[str, Any]:
    # JSON may contain lone surrogates, which the check of the card reports.
    return parse(readme.encode("utf-8", "surrogatepass")).values


def _is_change(old: Mapping[str, Any], key: str, value: Any) -> bool:
    if key not in old or value is None:
        return (key in old) == (value is None)
    # Compared as JSON, since True equals 1 in Python.
    return json.dumps(old[key]) != json.dumps(value)


def _parts(readme: str) -> tuple[str, str, str, str]:
    """Text before, in (line end ``\\n``) and after the front matter, and the file's line end."""
    mark = _BYTE_ORDER_MARK if readme.startswith(_BYTE_ORDER_MARK) else ""
    lines = _LINE.findall(readme.removeprefix(_BYTE_ORDER_MARK))
    _, opened, closed = split(readme)
    if opened is None or closed is None:
        end = _end_of(lines[0]) or "\n"
        return f"{mark}---{end}", "", f"---{end}{readme.removeprefix(_BYTE_ORDER_MARK)}", end
    end = _end_of(lines[opened])
    matter = "".join(line.rstrip("\r\n") + "\n" for line in lines[opened + 1 : closed])
    before = mark + "".join(lines[: opened + 1])
    return before, matter, "".join(lines[closed:]), end


def _end_of(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _spliced(matter: str, changed: Mapping[str, Any]) -> str:
    """``matter`` with the lines of the changed keys replaced, removed, or put at its end."""
    pieces = []
    position = 0
    keys = spans(matter)
    for span in keys:
        if span.key not in changed:
            continue
        start, stop, comment = _lines_of(matter, span)
        pieces.append(matter[position:start])
        position = stop
        if changed[span.key] is not None:
            indent = " " * (span.start - start)
            pieces.append(_commented(_yaml({span.key: changed[span.key]}, indent), comment))
    pieces.append(matter[position:])
    existing = {span.key for span in keys}
    new = {key: value for key, value in changed.items() if key not in existing}
    indent = " " * (keys[0].start - _lines_of(matter, keys[0])[0]) if keys else ""
    pieces += [_yaml({key: value}, indent) for key, value in new.items()]
    return "".join(pieces)


def _lines_of(matter: str, span: Span) -> tuple[int, int, str]:
    """Start and end of the key's lines, and the comment after its value."""
    start = matter.rfind("\n", 0, span.start) + 1
    if span.is_block:
        # Blank lines after a block text do not belong to it.
        text = matter[start : span.stop]
        return start, start + len(text.rstrip()) + 1, ""
    stop = matter.find("\n", span.stop) + 1
    return start, stop, matter[span.stop : stop].strip()


def _commented(text: str, comment: str) -> str:
    if not comment:
        return text
    first, _, rest = text.partition("\n")
    return f"{first} {comment}\n{rest}"


class _Dumper(yaml.SafeDumper):
    """Quotes texts that YAML 1.1 or 1.2 would read as another type."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write repeated values without aliases."""
        del data
        return True


for _name, _pattern, _first in RESOLVERS:
    _Dumper.add_implicit_resolver(_name, _pattern, _first)


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    lines = text.split("\n")
    # Block style is unsafe for an indented first line and for invisible characters.
    is_plain = all(line.isprintable() and line == line.strip() for line in lines)
    style = "|" if len(lines) > 1 and is_plain and lines[0] else None
    if style is None and not text.isprintable():
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def _yaml(values: Mapping[str, Any], indent: str = "") -> str:
    """``values`` in block style, each line indented."""
    if not values:
        return ""
    text: str = yaml.dump(
        dict(values), Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=math.inf
    )
    return re.sub("^(?=.)", indent, text, flags=re.MULTILINE) if indent else text
