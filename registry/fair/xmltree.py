"""XML elements from plain values. Tags and attributes are passed with prefixes and ``xmlns``, so
that namespaces are declared on the root element of each format, where its readers expect them."""

import re
from collections.abc import Iterable, Mapping
from xml.etree.ElementTree import Element, indent, tostring

XSI = "http://www.w3.org/2001/XMLSchema-instance"

#: Characters that XML 1.0 cannot represent, not even escaped (section 2.2, production Char).
_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def element(
    tag: str,
    content: str | Iterable[Element] = (),
    attributes: Mapping[str, str | None] | None = None,
) -> Element:
    """An element with a text or with child elements. Characters that XML cannot represent become
    U+FFFD; attributes that are ``None`` are left out."""
    node = Element(tag)
    for name, value in (attributes or {}).items():
        if value is not None:
            node.set(name, writable(value))
    if isinstance(content, str):
        node.text = writable(content)
    else:
        node.extend(content)
    return node


def writable(text: str) -> str:
    """``text`` with line breaks as ``\\n`` and U+FFFD for characters that XML cannot represent."""
    return representable(text.replace("\r\n", "\n").replace("\r", "\n"))


def representable(text: str) -> str:
    """``text`` with U+FFFD for characters that XML cannot represent."""
    return _UNWRITABLE.sub("\ufffd", text)


def located(namespace: str, schema: str) -> dict[str, str]:
    """Attributes of the root element: its namespace and the location of its schema."""
    return {"xmlns": namespace, "xmlns:xsi": XSI, "xsi:schemaLocation": f"{namespace} {schema}"}


def render(root: Element) -> bytes:
    """The indented document in UTF-8."""
    indent(root)
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"
