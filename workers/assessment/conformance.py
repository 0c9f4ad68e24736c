"""Validation of a record against the SHACL shape (W3C 2017) that it declares."""

from rdflib import Graph, URIRef
from rdflib.namespace import SH

from registry.fair.score.reading import Reading

#: Upper bound on reported violations.
_MAX_VIOLATIONS = 20


def violations(reading: Reading, shape: bytes, url: str) -> tuple[str, ...]:
    """Violations of the shape by the record; empty if the record can be read and conforms.

    ``shape`` is Turtle, as served at ``url``. DANGER: nothing is fetched; only SHACL Core is
    evaluated.
    """
    # Takes a twentieth of the start of each worker, of which most never assess a record.
    from pyshacl import validate  # noqa: PLC0415

    shapes = Graph()
    try:
        shapes.parse(data=shape, format="turtle", publicID=url)
    except Exception as error:  # noqa: BLE001 - the parser raises exceptions of many types
        return (f"The shape at {url} cannot be read: {error}",)
    subject = reading.subject
    if subject is None:
        return (reading.fault or "The record has no address.",)
    # The record is also validated as a focus node: without a matching target it would conform.
    selections: tuple[list[str | URIRef] | None, ...] = ([URIRef(url)], None)
    messages: set[str] = set()
    for shapes_used in selections:
        try:
            _, report, _ = validate(
                reading.graph,
                shacl_graph=shapes,
                use_shapes=shapes_used,
                focus_nodes=[subject] if shapes_used else None,
            )
        except RuntimeError as error:
            return (f"The shape at {url} cannot be applied: {str(error).splitlines()[0]}",)
        messages.update(_messages(report))
    return tuple(sorted(messages))[:_MAX_VIOLATIONS]


def _messages(report: object) -> list[str]:
    if not isinstance(report, Graph):
        return ["The shape cannot be applied."]
    return [
        f"{report.value(one, SH.resultPath) or 'It'}: {report.value(one, SH.resultMessage)}"
        for one in report.objects(None, SH.result)
    ]
