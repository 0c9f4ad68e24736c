"""Run by the environment ``linked``: what independent readers find in documents of ours.

``linked_data.py FOLDER`` reads each ``NAME.jsonld`` and ``NAME.ttl`` there and checks them against
the shape in ``shape.ttl``, and against that in ``core.ttl`` if there is one. It writes one JSON
object: name to ``same`` (whether both hold the same triples), ``triples`` (their number),
``conforms``, ``conforms_to_core`` and ``report``.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pyshacl
import rdflib

_DOUBLE = ox.NamedNode("http://www.w3.org/2001/XMLSchema#double")


def _triples(document: Path, form: ox.RdfFormat) -> ox.Dataset:
    found = ox.Dataset(
        ox.Quad(one.subject, one.predicate, _plain(one.object))
        for one in ox.parse(document.read_bytes(), form)
    )
    found.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return found


def _plain(term: Any) -> Any:
    """One spelling for each number: writers differ in that, 0.5 and 5.0E-1."""
    if isinstance(term, ox.Literal) and term.datatype == _DOUBLE:
        return ox.Literal(repr(float(term.value)), datatype=_DOUBLE)
    return term


def _seen(document: Path, shape: rdflib.Graph, core: rdflib.Graph | None) -> dict[str, object]:
    turtle = document.with_suffix(".ttl")
    strict = _triples(turtle, ox.RdfFormat.TURTLE)
    conforms, _, report = pyshacl.validate(str(turtle), shacl_graph=shape)
    return {
        "same": strict == _triples(document, ox.RdfFormat.JSON_LD),
        "triples": len(strict),
        "conforms": conforms,
        "conforms_to_core": None
        if core is None
        else pyshacl.validate(str(turtle), shacl_graph=core)[0],
        "report": report,
    }


def main() -> None:
    folder = Path(sys.argv[1])
    shape = rdflib.Graph().parse(folder / "shape.ttl")
    path = folder / "core.ttl"
    core = rdflib.Graph().parse(path) if path.exists() else None
    # Raises where a shape breaks SHACL's own rules.
    for one in filter(None, (shape, core)):
        pyshacl.validate(rdflib.Graph(), shacl_graph=one, meta_shacl=True)
    seen = {one.stem: _seen(one, shape, core) for one in sorted(folder.glob("*.jsonld"))}
    print(json.dumps(seen))


main()
