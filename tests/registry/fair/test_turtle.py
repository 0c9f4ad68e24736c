import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import Graph
from rdflib.compare import isomorphic

from registry.fair.description import Description
from registry.fair.linked import rdfxml
from registry.fair.linked.jsonld import document
from registry.fair.linked.turtle import graph, render
from tests.registry.fair.samples import EVERY, LEAST, MOST

_PROGRAM = """
import hashlib
from registry.fair.linked import rdfxml, turtle
from tests.registry.fair.samples import MOST
print(hashlib.sha256(turtle.render(MOST) + rdfxml.render(MOST)).hexdigest())
"""

#: Characters that XML 1.0 cannot represent, of those that are drawn below.
_NOT_IN_XML = (*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF)


def read(written: bytes) -> Graph:
    return Graph().parse(data=written, format="turtle")


@pytest.mark.parametrize("description", EVERY.values(), ids=EVERY.keys())
def test_turtle_and_xml_say_what_the_json_ld_says(description: Description) -> None:
    triples = graph(document(description))
    assert isomorphic(read(render(description)), triples)
    assert isomorphic(Graph().parse(data=rdfxml.render(description), format="xml"), triples)


@pytest.mark.parametrize("description", EVERY.values(), ids=EVERY.keys())
def test_the_same_description_gives_the_same_bytes(description: Description) -> None:
    assert render(description) == render(replace(description))


@pytest.mark.slow
def test_the_bytes_do_not_depend_on_the_process() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _PROGRAM],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ".:client"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_numbers_keep_their_digits() -> None:
    assert '"0.9615384615384616"^^xsd:double' in render(MOST).decode()


@settings(max_examples=25, deadline=None)
@given(
    st.text(alphabet=st.one_of(st.sampled_from('\n\r\t\\"\x00\x7f'), st.characters(codec="utf-8")))
)
def test_texts_of_strangers_come_through(text: str) -> None:
    texts = {f"x{text}", f"{text}y", f'\n{text}\\"'}
    title, description, usage = sorted(texts)
    described = replace(LEAST, title=title, description=description, usage=usage)
    assert texts <= {str(one) for one in read(render(described)).objects()}
    plain = [one.translate(dict.fromkeys(_NOT_IN_XML, "\ufffd")) for one in texts]
    xml = Graph().parse(data=rdfxml.render(described), format="xml")
    assert set(plain) <= {str(one) for one in xml.objects()}
