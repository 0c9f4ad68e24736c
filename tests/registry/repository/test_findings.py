"""Bad cards: each is told by its line, and whatever a card holds, its model stays loadable."""

import pytest

from hpcfair.choice import LoadRequest
from registry.errors import Invalid
from registry.selectors.repository.findings import findings_of
from registry.selectors.repository.revision import revision_get
from registry.selectors.results.resolution import resolve
from registry.tables import MLModel, Revision, User
from tests.factories import commit_files, make_mlmodel, readme, tiny_onnx
from tests.registry.shopfloor import make_graph

pytestmark = pytest.mark.django_db

TEXT = "# A\n\nSorts galaxies by their shapes, for surveys of the whole sky.\n"


@pytest.fixture
def net(alice: User) -> MLModel:
    """``alice/net``, which can be loaded."""
    files: dict[str, bytes | str] = {"README.md": readme(TEXT), "model.onnx": tiny_onnx()}
    net = make_mlmodel("alice/net", actor=alice, files=files)
    make_graph(revision_get(net))
    return net


def load(revision: Revision) -> str:
    """The file that a client with ONNX Runtime opens."""
    return resolve(revision, LoadRequest("x86-64", (), {"onnxruntime"}, "exact")).entry_point


@pytest.mark.parametrize(
    ("matter", "body", "line", "code", "words"),
    [
        (
            "authors:\n- name: A\n  orcid: 0000-0002-1825-0098\n",
            TEXT,
            5,
            "orcid_invalid",
            "0000-0002-1825-0097",
        ),
        ("base_model: Alice/Net\n", TEXT, 3, "base_model_circular", "Alice/Net"),
        ("library_name: openvino\n", TEXT, 3, "card_contradicts_files", "no file ends in .xml"),
        ("parameters: 7B\n", TEXT, 3, "card_contradicts_files", "the network has"),
        ("", f"{TEXT}\n<b onclick=x>b</b>\n", 8, "html_shown", "<b>"),
        ("", f"{TEXT}\n<script>\nalert(1)\n</script>\n", 8, "html_shown", "<script>"),
    ],
    ids=["orcid", "circle", "library", "parameters", "html", "script"],
)
def test_what_is_wrong_in_a_card_is_told_by_its_line(
    net: MLModel, alice: User, matter: str, body: str, line: int, code: str, words: str
) -> None:
    card = f"---\nlicense: mit\n{matter}---\n{body}"
    revision = commit_files(net, {"README.md": card}, actor=alice)
    make_graph(revision)
    (finding,) = findings_of(revision)
    assert (finding.line, finding.code) == (line, code)
    assert words in finding.message + finding.fix
    assert load(revision) == "model.onnx"


@pytest.mark.parametrize(
    ("card", "code", "words"),
    [
        ("---\nlicense: mit\ntags: [\n---\n", "invalid_card", "line 4: this is not YAML"),
        ("---\ntags: [a]\nlicense: freeware\n---\n", "license_unknown", "line 3: The license"),
        ("x" * 5_000_000, "invalid_card", "5000000 bytes, a card may have 1048576"),
    ],
    ids=["yaml", "license", "5 MB"],
)
def test_what_is_no_card_is_refused_and_the_model_stays_as_it_was(
    net: MLModel, alice: User, card: str, code: str, words: str
) -> None:
    head = revision_get(net)
    with pytest.raises(Invalid) as caught:
        commit_files(net, {"README.md": card}, actor=alice)
    assert caught.value.code == code
    assert words in caught.value.detail
    assert caught.value.hint
    assert revision_get(net) == head
    assert load(head) == "model.onnx"


def test_a_circle_over_others_is_told(alice: User) -> None:
    make_mlmodel("alice/a", actor=alice, files={"README.md": readme(TEXT)})
    make_mlmodel("alice/b", actor=alice, files={"README.md": readme(TEXT, base_model="alice/a")})
    last = make_mlmodel(
        "alice/c", actor=alice, files={"README.md": readme(TEXT, base_model="alice/b")}
    )
    assert findings_of(revision_get(last)) == ()
    first = MLModel.objects.get(name="a")
    card = readme(TEXT, base_model=["alice/c"])
    revision = commit_files(first, {"README.md": card}, actor=alice)
    (finding,) = findings_of(revision)
    assert finding.code == "base_model_circular"
    assert "alice/a from alice/c from alice/b from alice/a" in finding.message


def test_a_license_of_another_text_than_the_file_is_told(net: MLModel, alice: User) -> None:
    text = "Apache License\nVersion 2.0, January 2004\n"
    files = {"README.md": readme(TEXT, license="mit"), "LICENSE": text}
    (finding,) = findings_of(commit_files(net, files, actor=alice))
    assert "LICENSE contains Apache-2.0" in finding.message


def test_without_a_readme_there_is_nothing_to_tell(alice: User) -> None:
    assert findings_of(revision_get(make_mlmodel("alice/empty", actor=alice))) == ()
