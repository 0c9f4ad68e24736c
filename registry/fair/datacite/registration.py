"""Requests to DataCite's REST API that register DOIs and update their metadata.

JSON:API documents (https://support.datacite.org/docs/api-create-dois) with the metadata, the
address that the DOI resolves to, and an event that changes its state: draft, registered, findable.
"""

from dataclasses import replace
from typing import Any

from registry.fair.datacite.document import document
from registry.fair.description import Description


def registration(description: Description, doi: str) -> dict[str, Any]:
    """The document that makes a version's DOI (``10.5072/...``, in lower case) findable, or updates
    its metadata. The DOI resolves to the persistent identifier of this hub, which survives renaming
    and withdrawal, unlike the address of the page."""
    attributes = document(replace(description, doi=f"https://doi.org/{doi}"))
    return _data(doi, attributes | {"url": description.pid, "event": "publish"})


def hiding(doi: str) -> dict[str, Any]:
    """The document that removes a DOI from DataCite's search; it still resolves."""
    return _data(doi, {"event": "hide"})


def drafted(body: dict[str, Any]) -> dict[str, Any]:
    """The same document without an event: it creates a draft DOI."""
    data = body["data"]
    attributes = {key: value for key, value in data["attributes"].items() if key != "event"}
    return {"data": data | {"attributes": attributes}}


def _data(doi: str, attributes: dict[str, Any]) -> dict[str, Any]:
    return {"data": {"type": "dois", "id": doi, "attributes": {"doi": doi} | attributes}}
