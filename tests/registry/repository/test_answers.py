"""Questions about what is shared: answered by the hub as far as it can, worth points, written."""

import json
from dataclasses import replace

import pytest
from django.contrib.auth.models import AnonymousUser

from registry.errors import Conflict, Forbidden, Invalid, Unauthenticated
from registry.fair.card.answers import Answers, Creator
from registry.fair.score.harvest import expected
from registry.fair.score.score import assess
from registry.selectors.fair.description import describe
from registry.selectors.repository.answers import answers_preview, prefilled_answers
from registry.selectors.repository.revision import readme_of, revision_get
from registry.services.repository.answers import answers_write
from registry.states import RepositoryKind
from registry.tables import MLModel, User
from tests.factories import commit_files, make_mlmodel, readme

pytestmark = pytest.mark.django_db

ORCID = "https://orcid.org/0000-0002-1825-0097"
APACHE = "Apache License\nVersion 2.0, January 2004\n"
CONFIG = json.dumps({"model_type": "resnet", "architectures": ["ResNetForImageClassification"]})
BEST = Answers(
    title="Galaxy shapes",
    license="mit",
    creators=(
        Creator(name="Ada Beispiel", orcid=ORCID, affiliation="Brown", ror="05gq02987"),
        Creator(name="Example Lab", ror="05dxps055"),
    ),
    task="image-classification",
    datasets=("alice/sky", "https://doi.org/10.5072/stars"),
    intended_use="To sort galaxies by their shape, for surveys of the whole sky.",
)


@pytest.fixture
def net(alice: User) -> MLModel:
    """``alice/net``, without a card."""
    return make_mlmodel("alice/net", actor=alice, files={"weights.bin": b"0123"})


def test_what_files_and_profile_say_is_answered_already(alice: User) -> None:
    alice.orcid, alice.affiliation = ORCID, "Brown University"
    alice.save()
    files = {"README.md": "# Galaxies\n\nText.\n", "LICENSE": APACHE, "config.json": CONFIG}
    known = prefilled_answers(alice, make_mlmodel("alice/told", actor=alice, files=files))
    assert known.answers == Answers(
        title="Galaxies",
        license="apache-2.0",
        creators=(Creator(name="Alice Adams", orcid=ORCID, affiliation="Brown University"),),
        task="image-classification",
    )
    assert set(known.sources) == {"title", "license", "creators", "task"}


def test_what_the_card_says_counts_for_more(alice: User) -> None:
    card = readme(
        "# Other\n\nText.\n",
        license="mit",
        model_name="Galaxies",
        authors=["Ada Beispiel"],
        pipeline_tag="fill-mask",
    )
    files = {"README.md": card, "LICENSE": APACHE, "config.json": CONFIG}
    known = prefilled_answers(alice, make_mlmodel("alice/told", actor=alice, files=files))
    assert known.answers == Answers(
        title="Galaxies",
        license="mit",
        creators=(Creator(name="Ada Beispiel", place=0),),
        task="fill-mask",
    )
    assert not known.sources


@pytest.mark.parametrize(
    ("files", "question"),
    [
        ({"LICENSE": "GNU General Public License\nVersion 3, 29 June 2007\n"}, "license"),
        ({"LICENSE": "Do as you like.\n"}, "license"),
        ({"README.md": "# A [link](x)\n"}, "title"),
        ({"README.md": "## Uses\n\nMany.\n"}, "title"),
        ({"config.json": '{"architectures": ["Unheard"], "model_type": "x"}'}, "task"),
    ],
)
def test_what_does_not_tell_for_certain_answers_nothing(
    alice: User, files: dict[str, str], question: str
) -> None:
    known = prefilled_answers(alice, make_mlmodel("alice/told", actor=alice, files=files))
    assert not getattr(known.answers, question)


def test_each_answer_is_worth_points(net: MLModel, alice: User) -> None:
    known, answers = prefilled_answers(alice, net), Answers()
    points = [answers_preview(known, answers).score.total.points]
    # The task is one of the things that make a record whole, and so is the text.
    for question in ("license", "creators", "datasets", "intended_use", "task"):
        answers = replace(answers, **{question: getattr(BEST, question)})
        points.append(answers_preview(known, answers).score.total.points)
    assert points == sorted(set(points))


@pytest.mark.parametrize(
    "card", ["", "# Galaxies\n", readme("# A\n\nText.\n", tags=["sky"], limitations="Noise.")]
)
def test_what_a_draft_promises_the_record_is_given(alice: User, card: str) -> None:
    make_mlmodel(
        "alice/sky", actor=alice, files={"README.md": readme()}, kind=RepositoryKind.DATASET
    )
    files: dict[str, bytes | str] = {"weights.bin": b"0123"}
    files |= {"README.md": card} if card else {}
    net = make_mlmodel("alice/net", actor=alice, files=files)
    known = prefilled_answers(alice, net)
    promised = answers_preview(known, BEST).score
    revision = answers_write(actor=alice, mlmodel=net, answers=BEST)
    given = assess(expected(describe(revision)))
    assert [(metric.id, outcome.points) for metric, outcome in promised.results] == [
        (metric.id, outcome.points) for metric, outcome in given.results
    ]


def test_a_draft_tells_what_is_wrong_in_the_answers_alone(alice: User) -> None:
    card = readme("# A\n\n<script>alert(1)</script>\n", doi="no doi")
    net = make_mlmodel("alice/net", actor=alice, files={"README.md": card})
    wrong = Creator(name="A", orcid="0000-0002-1825-0098")
    draft = answers_preview(
        prefilled_answers(alice, net), Answers(license="mitt", creators=(wrong,))
    )
    assert {one.code for one in draft.findings} == {"license_unknown", "orcid_invalid"}


def test_answers_become_one_commit_that_changes_readme_alone(net: MLModel, alice: User) -> None:
    revision = answers_write(actor=alice, mlmodel=net, answers=BEST, readme_oid="")
    assert revision_get(net) == revision
    assert (revision.message, revision.author) == ("Describe the model", alice)
    changed = revision.files.filter(changed_in=revision)
    assert list(changed.values_list("path", flat=True)) == ["README.md"]
    assert readme_of(revision).strip() == f"# Galaxy shapes\n\n{BEST.intended_use}"
    net.refresh_from_db()
    assert (net.title, net.license, net.task) == ("Galaxy shapes", "MIT", "image-classification")
    with pytest.raises(Conflict) as caught:
        answers_write(actor=alice, mlmodel=net, answers=prefilled_answers(alice, net).answers)
    assert caught.value.code == "nothing_to_commit"


def test_a_data_set_is_described_as_one(alice: User) -> None:
    sky = make_mlmodel("alice/sky", actor=alice, kind=RepositoryKind.DATASET)
    revision = answers_write(
        actor=alice, mlmodel=sky, answers=Answers(title="Sky", license="cc-by-4.0", task="none")
    )
    assert revision.message == "Describe the data set"
    assert revision.card == {"pretty_name": "Sky", "license": "cc-by-4.0"}


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        (Answers(title="A"), "license_missing"),
        (Answers(license="other"), "license_missing"),
        (Answers(license="freeware"), "license_unknown"),
        (Answers(license="mit", title="a\x07"), "invalid_card"),
        (Answers(license="mit", intended_use="x" * 1_100_000), "invalid_card"),
    ],
)
def test_what_would_be_no_card_is_refused_and_nothing_is_written(
    net: MLModel, alice: User, answers: Answers, code: str
) -> None:
    head = revision_get(net)
    with pytest.raises(Invalid) as caught:
        answers_write(actor=alice, mlmodel=net, answers=answers)
    assert caught.value.code == code
    assert revision_get(net) == head


def test_answers_to_another_readme_are_not_written(net: MLModel, alice: User) -> None:
    seen = prefilled_answers(alice, net).readme_oid
    head = commit_files(net, {"README.md": readme()}, actor=alice)
    with pytest.raises(Conflict, match=r"README\.md has changed"):
        answers_write(actor=alice, mlmodel=net, answers=BEST, readme_oid=seen)
    assert revision_get(net) == head
    # What changed beside it is no obstacle.
    seen = prefilled_answers(alice, net).readme_oid
    commit_files(net, {"weights.bin": b"4567"}, actor=alice)
    answers_write(actor=alice, mlmodel=net, answers=BEST, readme_oid=seen)


def test_only_who_may_write_answers(net: MLModel, bob: User) -> None:
    with pytest.raises(Forbidden):
        answers_write(actor=bob, mlmodel=net, answers=BEST)
    with pytest.raises(Unauthenticated):
        answers_write(actor=AnonymousUser(), mlmodel=net, answers=BEST)
