"""XML out of plain values, escaped by the standard library.

Tags and attributes are given as they are written, prefixes and ``xmlns`` among them: namespaces
stand where the readers of these formats are used to see them, on the element that opens a format.
"""

import re
from collections.abc import Iterable, Mapping
from xml.etree.ElementTree import Element, indent, tostring

XSI = "http://www.w3.org/2001/XMLSchema-instance"

#: What XML 1.0 (section 2.2, production Char) has no way to write, not even escaped.
_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def element(
    tag: str,
    content: str | Iterable[Element] = (),
    attributes: Mapping[str, str | None] | None = None,
) -> Element:
    """An element that holds either a text or other elements.

    Characters that XML cannot hold become U+FFFD. Attributes without a value are left out.
    """
    made = Element(tag)
    for name, value in (attributes or {}).items():
        if value is not None:
            made.set(name, writable(value))
    if isinstance(content, str):
        made.text = writable(content)
    else:
        made.extend(content)
    return made


def writable(text: str) -> str:
    """``text`` as a reader of XML gets it: line breaks are ``\\n``, what cannot be is U+FFFD."""
    return _UNWRITABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def located(namespace: str, schema: str) -> dict[str, str]:
    """The attributes that open a format: its namespace, and where its schema lies."""
    return {
        "xmlns": namespace,
        "xmlns:xsi": XSI,
        "xsi:schemaLocation": f"{namespace} {schema}",
    }


def render(root: Element) -> bytes:
    """A document, indented, in UTF-8."""
    indent(root)
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"
