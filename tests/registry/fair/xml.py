"""Reading the XML that the hub writes."""

from collections.abc import Iterator
from xml.etree import ElementTree

DATACITE = "{http://datacite.org/schema/kernel-4}"
OAI = "{http://www.openarchives.org/OAI/2.0/}"
DC = "{http://purl.org/dc/elements/1.1/}"


def read(data: bytes) -> ElementTree.Element:
    """The root; the bytes are our own."""
    return ElementTree.fromstring(data)  # noqa: S314


def texts(root: ElementTree.Element, tag: str) -> list[str]:
    """What all elements of that name hold."""
    return [one.text or "" for one in root.iter(tag)]


def attributes(root: ElementTree.Element, tag: str) -> Iterator[dict[str, str]]:
    """The attributes of all elements of that name."""
    return (one.attrib for one in root.iter(tag))
