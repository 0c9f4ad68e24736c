"""Whether a record is as the shape demands that it says it conforms to (SHACL, W3C 2017)."""

from pyshacl import validate
from rdflib import Graph, URIRef
from rdflib.namespace import SH

from registry.fair.score.reading import Reading

#: More than anybody mends at once.
_MOST = 20


def violations(reading: Reading, shape: bytes, url: str) -> tuple[str, ...]:
    """What the shape finds wrong in the record; nothing where the record can be read and passes.

    DANGER: nothing is fetched for it; a shape that wants more than SHACL's core is not obeyed.

    Args:
        shape: Turtle, as it lay at ``url``.
    """
    shapes = Graph()
    try:
        shapes.parse(data=shape, format="turtle", publicID=url)
    except Exception as error:  # noqa: BLE001 - its parser raises whatever it stumbles over
        return (f"The shape at {url} cannot be read: {error}",)
    subject = reading.subject
    if subject is None:
        return (reading.fault or "The record has no address.",)
    # Asked of the record itself, too: one that no target fits would pass unseen.
    asked: tuple[list[str | URIRef] | None, ...] = ([URIRef(url)], None)
    found: set[str] = set()
    for one in asked:
        try:
            _, report, _ = validate(
                reading.graph,
                shacl_graph=shapes,
                use_shapes=one,
                focus_nodes=[subject] if one else None,
            )
        except RuntimeError as error:
            return (f"The shape at {url} cannot be applied: {str(error).splitlines()[0]}",)
        found.update(_told(report))
    return tuple(sorted(found))[:_MOST]


def _told(report: object) -> list[str]:
    if not isinstance(report, Graph):
        return ["The shape cannot be applied."]
    return [
        f"{report.value(one, SH.resultPath) or 'It'}: {report.value(one, SH.resultMessage)}"
        for one in report.objects(None, SH.result)
    ]
