"""What was made from what: the graph, its words, and who sees how much of it."""

import re
from itertools import combinations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from hub.pages.layers import BOX_HEIGHT, BOX_WIDTH, arrange
from hub.pages.lineage import _WORDS
from registry.selectors.repository.revision import revision_get
from registry.services.repository.mlmodel import mlmodel_delete
from registry.states import Relation, RepositoryKind
from registry.tables import Derivation, MLModel, User
from tests.factories import make_mlmodel
from tests.hub.pages.test_reading import status, text


def derive(made: MLModel, source: MLModel | str, relation: Relation = Relation.FINETUNE) -> None:
    """Note that the newest version of ``made`` came from ``source``."""
    Derivation.objects.create(
        revision=revision_get(made),
        relation=relation,
        source=source if isinstance(source, str) else source.full_name,
        source_mlmodel=None if isinstance(source, str) else source,
    )


def words(page: str) -> str:
    """The page's list in words, without markup."""
    listed = page.partition("In words")[2].partition("</ul>")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", listed))


def make_family(galaxy: MLModel, alice: User) -> tuple[MLModel, MLModel]:
    """``lab/galaxy-cnn``, ``alice/tuned`` made from it, and ``alice/small`` made from that."""
    tuned, small = (make_mlmodel(name, actor=alice) for name in ("alice/tuned", "alice/small"))
    derive(galaxy, "https://doi.org/10.5072/base", Relation.DISTILLED)
    derive(tuned, galaxy)
    derive(small, tuned, Relation.QUANTIZED)
    return tuned, small


@pytest.fixture
def family(galaxy: MLModel, alice: User) -> tuple[MLModel, MLModel]:
    return make_family(galaxy, alice)


@pytest.mark.django_db
@pytest.mark.usefixtures("cast")
def test_the_graph_shows_origins_and_all_that_was_made(
    client: Client, family: tuple[MLModel, MLModel]
) -> None:
    page = text(client, "/alice/tuned/lineage")
    origin = "https://doi.org/10.5072/base"
    for linked in ("/lab/galaxy-cnn/lineage", "/alice/small/lineage", origin):
        assert f'href="{linked}"' in page
    assert page.count('class="here"') == 1
    assert "alice/tuned was fine-tuned from lab/galaxy-cnn" in words(page)
    assert "alice/small was quantised from alice/tuned" in words(page)
    assert "lab/galaxy-cnn was distilled from https://doi.org/10.5072/base" in words(page)


@pytest.mark.django_db
@pytest.mark.usefixtures("cast")
def test_nothing_known_is_said_and_how_to_say_it(
    client: Client, galaxy: MLModel, charlie: User
) -> None:
    assert "No sources are declared" in text(client, "/lab/galaxy-cnn/lineage")
    assert "base_model" not in text(client, "/lab/galaxy-cnn/lineage")
    client.force_login(charlie)
    assert "base_model" in text(client, "/lab/galaxy-cnn/lineage")


@pytest.mark.django_db
@pytest.mark.usefixtures("cast")
def test_what_is_private_is_in_no_strangers_graph(
    client: Client, galaxy: MLModel, secret: MLModel, charlie: User
) -> None:
    derive(secret, galaxy)
    derive(galaxy, secret, Relation.FORK)
    page = text(client, "/lab/galaxy-cnn/lineage")
    assert "lab/secret" not in page
    assert status(client, "/lab/secret/lineage") == 404
    client.force_login(charlie)
    page = text(client, "/lab/galaxy-cnn/lineage")
    assert "lab/secret was fine-tuned from lab/galaxy-cnn" in words(page)
    assert "model, private" in page


@pytest.mark.django_db
@pytest.mark.usefixtures("cast")
def test_a_circle_is_drawn_and_ends(client: Client, family: tuple[MLModel, MLModel]) -> None:
    galaxy, (_, small) = MLModel.objects.get(name="galaxy-cnn"), family
    derive(galaxy, small)
    page = text(client, "/alice/tuned/lineage")
    assert 'class="edge back"' in page
    assert words(page).count("from") == 4


@pytest.mark.django_db
@pytest.mark.usefixtures("cast")
def test_names_and_sources_cannot_run_scripts(client: Client, galaxy: MLModel) -> None:
    derive(galaxy, '"><script>alert(1)</script>', Relation.MERGE)
    derive(galaxy, "javascript:alert(1)")
    page = text(client, "/lab/galaxy-cnn/lineage")
    assert "<script>alert" not in page
    assert 'href="javascript' not in page
    assert "not on this hub" in page


@pytest.mark.django_db
@pytest.mark.usefixtures("cast")
def test_what_was_withdrawn_is_still_an_origin(
    client: Client, family: tuple[MLModel, MLModel], alice: User
) -> None:
    tuned, _ = family
    mlmodel_delete(actor=alice, mlmodel=tuned, reason="Superseded.")
    page = text(client, "/alice/small/lineage")
    assert "alice/small was quantised from alice/tuned" in words(page)
    assert "withdrawn" in page
    assert re.search(r'href="[^"]*/ark:/99999/', page)


@pytest.mark.django_db
@pytest.mark.usefixtures("cast")
def test_data_sets_have_one_too(client: Client, alice: User) -> None:
    sky, dusk = (
        make_mlmodel(name, actor=alice, kind=RepositoryKind.DATASET)
        for name in ("alice/sky", "alice/dusk")
    )
    derive(dusk, sky, Relation.DERIVED)
    page = text(client, "/datasets/alice/dusk/lineage")
    assert 'href="/datasets/alice/sky/lineage"' in page
    assert "data set" in page


@pytest.mark.django_db
@pytest.mark.usefixtures("cast")
def test_a_version_has_its_own_origins(client: Client, galaxy: MLModel) -> None:
    derive(galaxy, "elsewhere/base")
    first = galaxy.revisions.order_by("pk").first()
    assert first is not None
    assert "elsewhere/base" in text(client, "/lab/galaxy-cnn/lineage")
    assert "elsewhere/base" not in text(client, f"/lab/galaxy-cnn/lineage?revision={first.oid}")


@pytest.mark.django_db
@pytest.mark.usefixtures("cast")
def test_a_large_family_takes_as_few_queries_as_a_small_one(
    client: Client, galaxy: MLModel, alice: User
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            text(client, "/lab/galaxy-cnn/lineage")
        return len(asked)

    derive(make_mlmodel("alice/net-0", actor=alice), galaxy)
    # What is said of the version itself is kept from now on.
    queries()
    few = queries()
    for number in range(1, 12):
        derive(make_mlmodel(f"alice/net-{number}", actor=alice), galaxy)
    assert queries() == few


def test_every_relation_has_its_words() -> None:
    assert set(_WORDS) == set(Relation)


graphs = st.integers(1, 12).flatmap(
    lambda count: st.tuples(
        st.just([f"n{number}" for number in range(count)]),
        st.lists(
            st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(
                lambda pair: pair[0] != pair[1]
            ),
            max_size=30,
        ),
    )
)


@given(graphs)
def test_any_graph_is_laid_out_without_overlap_and_from_left_to_right(
    graph: tuple[list[str], list[tuple[int, int]]],
) -> None:
    nodes, pairs = graph
    edges = [(nodes[one], nodes[other]) for one, other in pairs]
    drawing = arrange(nodes, edges)
    assert set(drawing.boxes) == set(nodes)
    assert {curve.edge for curve in drawing.curves} == set(edges)
    for box in drawing.boxes.values():
        assert 0 <= box.x <= drawing.width - BOX_WIDTH
        assert 0 <= box.y <= drawing.height - BOX_HEIGHT
    for one, other in combinations(drawing.boxes.values(), 2):
        assert abs(one.x - other.x) >= BOX_WIDTH or abs(one.y - other.y) >= BOX_HEIGHT
    for curve in drawing.curves:
        source, derived = (drawing.boxes[node] for node in curve.edge)
        assert curve.is_back == (source.x >= derived.x)


def test_edges_that_need_not_cross_do_not() -> None:
    drawing = arrange(["a", "b", "x", "y"], [("a", "y"), ("b", "x")])
    a, b, x, y = (drawing.boxes[node].y for node in "abxy")
    assert (a < b) == (y < x)
