"""What DataCite's REST API is sent to register a DOI and to keep it true.

JSON:API documents (https://support.datacite.org/docs/api-create-dois): their attributes are the
metadata, the address that the DOI leads to, and an event, which moves a DOI between its states:
draft, registered, findable.
"""

from dataclasses import replace
from typing import Any

from registry.fair.datacite.document import document
from registry.fair.description import Description


def registration(description: Description, doi: str) -> dict[str, Any]:
    """The document that makes a version's DOI findable, or its metadata true again.

    The DOI leads to the persistent identifier here, not to the page: the page's address changes
    with the name of what it shows, and the identifier leads to what is left of it as well.

    Args:
        doi: ``10.5072/...``, in lower case.
    """
    attributes = document(replace(description, doi=f"https://doi.org/{doi}"))
    return _data(doi, attributes | {"url": description.pid, "event": "publish"})


def hiding(doi: str) -> dict[str, Any]:
    """The document that takes a DOI out of DataCite's search; it leads on where it led."""
    return _data(doi, {"event": "hide"})


def drafted(body: dict[str, Any]) -> dict[str, Any]:
    """The same document without an event: a DOI made by it begins as a draft."""
    data = body["data"]
    attributes = {key: value for key, value in data["attributes"].items() if key != "event"}
    return {"data": data | {"attributes": attributes}}


def _data(doi: str, attributes: dict[str, Any]) -> dict[str, Any]:
    return {"data": {"type": "dois", "id": doi, "attributes": {"doi": doi} | attributes}}
