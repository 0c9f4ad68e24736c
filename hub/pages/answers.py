"""The few questions about a model or a data set, and how FAIR its record is by their answers.

One form, at ``describe``. It works without JavaScript; with it, the score follows the typing: the
whole page is asked for again, and what changed is taken out of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hub.pages.addresses import address
from hub.pages.frame import frame, repository_page
from hub.pages.questions import (
    LICENSES,
    TASKS,
    Questions,
    QuestionsForm,
    anew,
    asked,
    bound,
)
from registry.errors import Conflict, Invalid
from registry.fair.card.answers import QUESTIONS, Answers, is_bare
from registry.fair.score.metric import Principle
from registry.fair.score.score import CardGap, Points, Score, card_gaps
from registry.selectors.access import require
from registry.selectors.repository.answers import (
    PrefilledAnswers,
    answers_preview,
    kind_of,
    prefilled_answers,
)
from registry.selectors.repository.dataset import datasets_matching
from registry.services.repository.answers import answers_write
from registry.states import Role
from registry.tables import MLModel

#: Key of a card to the question that fills it.
_QUESTION_OF = {
    "model_name": "title",
    "license": "license",
    "authors": "creators",
    "pipeline_tag": "task",
    "datasets": "datasets",
    "intended_use": "intended_use",
}
_NAMES = {
    "creators": "Creators",
    **{name: str(field.label) for name, field in QuestionsForm.base_fields.items()},
}
_LETTERS: dict[Principle, str] = {
    "F": "Findable",
    "A": "Accessible",
    "I": "Interoperable",
    "R": "Reusable",
}
#: Data sets of the same owner that are offered while typing.
_OFFERED = 50


@dataclass(frozen=True, slots=True)
class Shown:
    """Points that are missing, and where to mend that.

    Attributes:
        name: Of the question, or the key of the card.
        place: Id of the field to go to, "" where that is not on the page.
    """

    gap: CardGap
    name: str
    place: str


@repository_page
@require_http_methods(["GET", "HEAD", "POST"])
def describe(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """The questions; a POST saves the answers, or only looks at what they are worth."""
    require(request.user, role=Role.WRITE, namespace=mlmodel.namespace)
    known = prefilled_answers(request.user, mlmodel)
    if request.method != "POST":
        return _page(request, known, asked(known, known.answers), seen=known.readme_oid)
    given, action = bound(known, request.POST), request.POST.get("action", "save")
    seen = request.POST.get("seen", "")
    if action in {"check", "more"}:
        is_more = action == "more"
        blanks = given.blanks + 1 if is_more else max(given.blanks, 1)
        again = asked(known, given.typed, blanks=blanks, focus=is_more)
        return _page(request, known, again, seen=seen)
    return _saved(request, known, given, seen)


def _saved(
    request: HttpRequest, known: PrefilledAnswers, given: Questions, seen: str
) -> HttpResponseBase:
    mlmodel = known.mlmodel
    if not given.is_valid():
        return _page(request, known, given, seen=seen, status=400)
    try:
        answers_write(actor=request.user, mlmodel=mlmodel, answers=given.typed, readme_oid=seen)
    except Invalid as error:
        given.refuse(error)
        return _page(request, known, given, seen=seen, status=400)
    except Conflict as error:
        if error.code != "nothing_to_commit":
            again = asked(known, anew(given.typed))
            return _page(request, known, again, seen=known.readme_oid, refused=error, status=409)
        messages.success(request, "README.md says all of that already.")
    else:
        messages.success(request, "Your answers are in README.md.")
    return redirect(address(mlmodel, "card"))


def _page(
    request: HttpRequest,
    known: PrefilledAnswers,
    questions: Questions,
    *,
    seen: str,
    status: int = 200,
    refused: Conflict | None = None,
) -> HttpResponseBase:
    mlmodel = known.mlmodel
    context = frame(
        request, mlmodel, tab="describe", revision=known.revision, asked=mlmodel.default_branch
    )
    owned = datasets_matching(request.user, namespace=mlmodel.namespace).order_by("-pk")
    context |= {
        "questions": questions.form,
        "creators": questions.creators,
        "found_in": known.sources,
        "seen": seen,
        "refused": refused,
        "licenses": LICENSES,
        "tasks": TASKS,
        "datasets": [one.full_name for one in owned[:_OFFERED]],
        "files": known.revision.files.count(),
        **_worth(known, questions.typed),
    }
    return render(request, "mlmodel/describe.html", context, status=status)


def _worth(known: PrefilledAnswers, answers: Answers) -> dict[str, Any]:
    """What the page tells of the score; why there is none, where README.md would be no card."""
    try:
        draft = answers_preview(known, answers)
    except Invalid as error:
        return {"fault": str(error)}
    shown = list(_shown(known, draft.score))
    return {
        "total": draft.score.total,
        "letters": _letters(draft.score),
        "findings": draft.findings,
        "here": [one for one in shown if one.place],
        "elsewhere": [one for one in shown if not one.place and one.gap.field],
        "by_hub": [one for one in shown if not one.gap.field],
    }


def _letters(score: Score) -> list[tuple[str, Points]]:
    return [(title, score.of_principle(letter)) for letter, title in _LETTERS.items()]


def _shown(known: PrefilledAnswers, score: Score) -> Iterator[Shown]:
    questions = QUESTIONS[kind_of(known.mlmodel)]
    for gap in card_gaps(score):
        field = gap.field or ""
        # The purpose becomes the text of a card that has none.
        question = "intended_use" if field == "README.md" and is_bare(known.card) else ""
        question = _QUESTION_OF.get(field, question)
        place = f"id_{question}" if question in questions else ""
        if place == "id_creators":
            place = "creators"
        yield Shown(gap, _NAMES.get(question, "") if place else field, place)
