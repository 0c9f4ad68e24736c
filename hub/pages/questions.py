"""The questions about a model or a data set, filled in from answers or from a browser's input."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from hub.pages.questionforms import MOST_CREATORS, CreatorFormSet, QuestionsForm, lines_of
from registry.errors import Invalid
from registry.fair.card.answers import Answers
from registry.selectors.repository.answers import PrefilledAnswers

_PREFIX = "creators"


class Questions:
    """The questions with the current answers.

    ``creators`` is a form set; ``None`` if there are too many creators, which then do not change.
    """

    def __init__(self, prefilled: PrefilledAnswers, form: QuestionsForm, creators: Any) -> None:
        self._prefilled = prefilled
        self.form = form
        self.creators = creators

    @property
    def typed(self) -> Answers:
        """The current answers, valid or not."""
        creators = self._prefilled.answers.creators
        if self.creators is not None:
            rows = (row.creator() for row in self.creators)
            creators = tuple(one for one in rows if one is not None)
        return Answers(
            title=self.form.text("title"),
            license=self.form.text("license"),
            creators=creators,
            task=self.form.text("task"),
            datasets=tuple(lines_of(self.form.text("datasets"))),
            intended_use=self.form.text("intended_use"),
        )

    @property
    def blanks(self) -> int:
        """Number of empty rows for creators."""
        rows = self.creators if self.creators is not None else ()
        return sum(row.creator() is None for row in rows)

    def is_valid(self) -> bool:
        """Whether all answers are valid."""
        is_whole = self.creators is None or self.creators.is_valid()
        return self.form.is_valid() and is_whole

    def refuse(self, error: Invalid) -> None:
        """Show an error of the registry, beside the license if it concerns that."""
        about_license = not {"license", "license_name"}.isdisjoint(error.fields)
        self.form.add_error("license" if about_license else None, str(error))


def filled_in(
    prefilled: PrefilledAnswers, answers: Answers, *, blanks: int = 1, focus: bool = False
) -> Questions:
    """The questions with answers and ``blanks`` empty rows, the last optionally with the focus."""
    initial = {
        "title": answers.title,
        "license": answers.license,
        "task": answers.task,
        "datasets": "\n".join(answers.datasets),
        "intended_use": answers.intended_use,
    }
    form = QuestionsForm(prefilled=prefilled, initial=initial)
    if _are_too_many(prefilled):
        return Questions(prefilled, form, None)
    rows: list[dict[str, Any]] = [
        {
            "name": one.name,
            "orcid": one.orcid,
            "affiliation": one.affiliation,
            "ror": one.ror,
            "place": "" if one.place is None else one.place,
        }
        for one in answers.creators
    ]
    creators = CreatorFormSet(initial=rows, prefix=_PREFIX)
    creators.extra = max(0, min(blanks, MOST_CREATORS + 1 - len(rows)))
    if focus and creators.extra:
        creators.forms[-1].fields["name"].widget.attrs["autofocus"] = True
    return Questions(prefilled, form, creators)


def bound(prefilled: PrefilledAnswers, data: Mapping[str, Any]) -> Questions:
    """The questions with the input of a browser."""
    form = QuestionsForm(cast("Any", data), prefilled=prefilled)
    if _are_too_many(prefilled):
        return Questions(prefilled, form, None)
    return Questions(prefilled, form, CreatorFormSet(cast("Any", data), prefix=_PREFIX))


def without_positions(answers: Answers) -> Answers:
    """The answers without the positions of creators, which differ in another card."""
    return replace(answers, creators=tuple(replace(one, place=None) for one in answers.creators))


def _are_too_many(prefilled: PrefilledAnswers) -> bool:
    return len(prefilled.answers.creators) > MOST_CREATORS
