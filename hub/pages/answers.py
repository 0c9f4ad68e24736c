"""The questions about a model or a data set, and the FAIR score of the answers: one form.

With JavaScript the score is updated while typing: htmx requests the whole page and replaces the
changed parts.
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
from hub.pages.questionforms import LICENSES, TASKS, QuestionsForm
from hub.pages.questions import Questions, bound, filled_in, without_positions
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
#: Suggested data sets of the same owner.
_SUGGESTED = 50


@dataclass(frozen=True, slots=True)
class ShownGap:
    """Missing points of a question or card key ``name``; ``place``: id of its field here, or ""."""

    gap: CardGap
    name: str
    place: str


@repository_page
@require_http_methods(["GET", "HEAD", "POST"])
def describe(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """The questions; a POST saves the answers, or previews their score."""
    require(request.user, role=Role.WRITE, namespace=mlmodel.namespace)
    prefilled = prefilled_answers(request.user, mlmodel)
    if request.method != "POST":
        return _page(
            request, prefilled, filled_in(prefilled, prefilled.answers), seen=prefilled.readme_oid
        )
    submitted, action = bound(prefilled, request.POST), request.POST.get("action", "save")
    seen = request.POST.get("seen", "")
    if action in {"check", "more"}:
        is_more = action == "more"
        blanks = submitted.blanks + 1 if is_more else max(submitted.blanks, 1)
        again = filled_in(prefilled, submitted.typed, blanks=blanks, focus=is_more)
        return _page(request, prefilled, again, seen=seen)
    return _save(request, prefilled, submitted, seen)


def _save(
    request: HttpRequest, prefilled: PrefilledAnswers, submitted: Questions, seen: str
) -> HttpResponseBase:
    mlmodel = prefilled.mlmodel
    if not submitted.is_valid():
        return _page(request, prefilled, submitted, seen=seen, status=400)
    try:
        answers_write(actor=request.user, mlmodel=mlmodel, answers=submitted.typed, readme_oid=seen)
    except Invalid as error:
        submitted.refuse(error)
        return _page(request, prefilled, submitted, seen=seen, status=400)
    except Conflict as error:
        if error.code != "nothing_to_commit":
            again = filled_in(prefilled, without_positions(submitted.typed))
            return _page(
                request, prefilled, again, seen=prefilled.readme_oid, refused=error, status=409
            )
        messages.success(request, "README.md has these answers already.")
    else:
        messages.success(request, "Your answers were written to README.md.")
    return redirect(address(mlmodel, "card"))


def _page(
    request: HttpRequest,
    prefilled: PrefilledAnswers,
    questions: Questions,
    *,
    seen: str,
    status: int = 200,
    refused: Conflict | None = None,
) -> HttpResponseBase:
    mlmodel = prefilled.mlmodel
    context = frame(
        request,
        mlmodel,
        tab="describe",
        revision=prefilled.revision,
        revision_name=mlmodel.default_branch,
    )
    owned = datasets_matching(request.user, namespace=mlmodel.namespace).order_by("-pk")
    context |= {
        "questions": questions.form,
        "creators": questions.creators,
        "found_in": prefilled.sources,
        "seen": seen,
        "refused": refused,
        "licenses": LICENSES,
        "tasks": TASKS,
        "datasets": [one.full_name for one in owned[:_SUGGESTED]],
        "files": prefilled.revision.files.count(),
        **_score_context(prefilled, questions.typed),
    }
    return render(request, "mlmodel/describe.html", context, status=status)


def _score_context(prefilled: PrefilledAnswers, answers: Answers) -> dict[str, Any]:
    """Context of the score or, if README.md would be an invalid card, of the reason."""
    try:
        draft = answers_preview(prefilled, answers)
    except Invalid as error:
        return {"fault": str(error)}
    shown = list(_shown(prefilled, draft.score))
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


def _shown(prefilled: PrefilledAnswers, score: Score) -> Iterator[ShownGap]:
    questions = QUESTIONS[kind_of(prefilled.mlmodel)]
    for gap in card_gaps(score):
        field = gap.field or ""
        # The intended use becomes the text of a card without text.
        question = "intended_use" if field == "README.md" and is_bare(prefilled.card) else ""
        question = _QUESTION_OF.get(field, question)
        place = f"id_{question}" if question in questions else ""
        if place == "id_creators":
            place = "creators"
        yield ShownGap(gap, _NAMES.get(question, "") if place else field, place)
