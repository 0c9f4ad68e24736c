"""The SHACL shapes (W3C 2017) of records.

Every record conforms to the core shape: facts that the hub provides. A complete record also has,
from its authors, a description, creators, a licence, and the task of a model. Only such records
claim to conform to the shape of complete records;
:func:`registry.fair.description.missing_fields` checks the same fields.
"""

from typing import Any

from registry.fair.description import MIN_DESCRIPTION
from registry.fair.linked.context import ACCESS_RIGHTS, prefixes
from registry.fair.parts import Hub
from registry.fair.serialise import drop_empty

_CONTEXT = prefixes(("dct", "doc", "fair4ml", "hub", "schema", "sh", "xsd"))
_IRI = {"@id": "sh:IRI"}
_MOMENT = {"@id": "xsd:dateTime"}
_STATUS = {"@list": ["Draft", "Published", "Withdrawn"]}
_RIGHTS = {"@list": [{"@id": one} for one in ACCESS_RIGHTS.values()]}


def core_document(hub: Hub) -> dict[str, Any]:
    """The core shape as JSON-LD."""
    return {"@context": _CONTEXT, "@graph": [_core(hub.core_shape_url)]}


def document(hub: Hub) -> dict[str, Any]:
    """The shape of complete records as JSON-LD, with the core shape that it includes."""
    url = hub.shape_url
    model = {
        "@id": f"{url}#model",
        "@type": "sh:NodeShape",
        "sh:targetClass": {"@id": "fair4ml:MLModel"},
        "sh:property": [_property("fair4ml:mlTask", minCount=1)],
    }
    core = _core(hub.core_shape_url)
    return {"@context": _CONTEXT, "@graph": [_complete(url, core["@id"]), model, core]}


def _complete(url: str, core_url: str) -> dict[str, Any]:
    return _shape(url) | {
        "sh:node": {"@id": core_url},
        "sh:property": [
            _property("schema:description", minCount=1, minLength=MIN_DESCRIPTION),
            _property("schema:creator", minCount=1),
            _property("schema:license", minCount=1, nodeKind=_IRI),
            _property("hub:licenseExpression", minCount=1),
        ],
    }


def _shape(url: str) -> dict[str, Any]:
    return {
        "@id": url,
        "@type": "sh:NodeShape",
        # Only records have this property; other nodes may have the same types.
        "sh:targetSubjectsOf": {"@id": "dct:isVersionOf"},
    }


def _core(url: str) -> dict[str, Any]:
    return _shape(url) | {
        "sh:nodeKind": _IRI,
        "sh:property": [
            _property("schema:identifier", minCount=2),
            _one("schema:name", minLength=1),
            _one("dct:title", minLength=1),
            _property("schema:description", maxCount=1),
            _one("schema:url", nodeKind=_IRI),
            _one("schema:version", minLength=1),
            _one("schema:dateCreated", datatype=_MOMENT),
            _one("schema:datePublished", datatype=_MOMENT),
            _one("schema:dateModified", datatype=_MOMENT),
            _one("schema:creativeWorkStatus", **{"in": _STATUS}),
            _property("schema:creator", node=_named()),
            _one("schema:publisher", node=_named()),
            _one("fair4ml:sharedBy", node=_named()),
            _property("hub:licenseExpression", maxCount=1, minLength=1),
            _one("dct:accessRights", **{"in": _RIGHTS}),
            _one("dct:isVersionOf", nodeKind=_IRI),
            _property("doc:persistencePolicy", minCount=1, nodeKind=_IRI),
            _property("schema:distribution", node=_file()),
        ],
        # The files of withdrawn versions are described, and not offered.
        "sh:or": {
            "@list": [
                {"sh:property": _property("schema:creativeWorkStatus", hasValue="Withdrawn")},
                {"sh:property": _property("schema:distribution", node=_downloadable())},
            ]
        },
    }


def _named() -> dict[str, Any]:
    return {"@type": "sh:NodeShape", "sh:property": [_one("schema:name", minLength=1)]}


def _file() -> dict[str, Any]:
    properties = [
        _one("schema:name", minLength=1),
        _property("schema:contentUrl", maxCount=1, nodeKind=_IRI),
        _one("schema:encodingFormat", minLength=1),
        _one("schema:contentSize", pattern="^[0-9]+$"),
        _one("schema:sha256", pattern="^[0-9a-f]{64}$"),
    ]
    return {"@type": "sh:NodeShape", "sh:property": properties}


def _downloadable() -> dict[str, Any]:
    return {"@type": "sh:NodeShape", "sh:property": _property("schema:contentUrl", minCount=1)}


def _one(path: str, **constraints: Any) -> dict[str, Any]:
    return _property(path, minCount=1, maxCount=1, **constraints)


def _property(path: str, **constraints: Any) -> dict[str, Any]:
    """A property shape; ``constraints`` are SHACL constraint parameters."""
    return drop_empty(
        **{"@type": "sh:PropertyShape", "sh:path": {"@id": path}},
        **{f"sh:{word}": value for word, value in constraints.items()},
    )
