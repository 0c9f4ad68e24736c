"""The questions about a model or a data set as forms, and the answers out of what was typed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from django import forms

from registry.errors import Invalid
from registry.fair.card.answers import QUESTIONS, Answers, Creator
from registry.fair.card.values import MAX_TEXT
from registry.selectors.repository.answers import PrefilledAnswers, kind_of
from registry.validation.findings import InvalidValue
from registry.validation.identifiers import orcid_url, ror_url
from registry.validation.license import license_of

#: More are named in README.md: no browser sends that many fields.
MOST_CREATORS = 100
_MOST_DATASETS = 500
_MOST_DATASET = 500
#: Offered while typing; any other license that SPDX lists is taken as well.
LICENSES = (
    *("apache-2.0", "mit", "bsd-3-clause", "bsd-2-clause", "mpl-2.0", "lgpl-3.0-or-later"),
    *("gpl-3.0-or-later", "agpl-3.0-or-later", "eupl-1.2", "isc", "unlicense"),
    *("cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0"),
    *("odc-by", "odbl", "pddl", "openrail", "creativeml-openrail-m"),
)
#: Offered while typing: the Hugging Face Hub's names, and a few of science.
TASKS = (
    *("image-classification", "image-segmentation", "object-detection", "depth-estimation"),
    *("image-to-image", "image-to-text", "image-feature-extraction", "keypoint-detection"),
    *("unconditional-image-generation", "text-to-image", "video-classification"),
    *("text-classification", "token-classification", "question-answering", "fill-mask"),
    *("text-generation", "summarization", "translation", "feature-extraction"),
    *("sentence-similarity", "zero-shot-classification", "automatic-speech-recognition"),
    *("audio-classification", "audio-to-audio", "text-to-speech", "tabular-classification"),
    *("tabular-regression", "time-series-forecasting", "reinforcement-learning", "robotics"),
    *("graph-ml", "surrogate-modelling", "other"),
)
_PREFIX = "creators"


class QuestionsForm(forms.Form):
    """All questions but that for the creators; a data set is asked fewer."""

    title = forms.CharField(
        max_length=300,
        required=False,
        label="Title",
        help_text="What people call it, such as: Galaxy shapes from SDSS images.",
    )
    license = forms.CharField(
        max_length=200,
        required=False,
        label="License",
        widget=forms.TextInput(attrs={"list": "licenses", "spellcheck": "false"}),
        help_text="What others may do with it: an SPDX id, or LicenseRef-Name for one of your own.",
    )
    task = forms.CharField(
        max_length=100,
        required=False,
        label="Task",
        widget=forms.TextInput(attrs={"list": "tasks", "spellcheck": "false"}),
        help_text="What it does, in one of the usual words.",
    )
    datasets = forms.CharField(
        max_length=_MOST_DATASETS * _MOST_DATASET,
        required=False,
        label="Training data",
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text="What it was trained on, one a line: namespace/name of a data set here, a DOI "
        "or an address.",
    )
    intended_use = forms.CharField(
        required=False,
        label="Intended use",
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="What it is meant for, and for whom. Markdown.",
    )

    def __init__(self, *args: Any, known: PrefilledAnswers, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._known = known
        for name in self.fields.keys() - set(QUESTIONS[kind_of(known.mlmodel)]):
            del self.fields[name]

    def clean_license(self) -> str:
        """The license, if there is one of that name; what stays as it was is not asked about."""
        text: str = self.cleaned_data["license"]
        if text != self._known.answers.license:
            try:
                license_of({**self._known.card.values, "license": text})
            except Invalid as error:
                raise forms.ValidationError(str(error)) from error
        return text

    def clean_intended_use(self) -> str:
        """The text; browsers send more characters than were typed, for each break of a line two."""
        text = self.text("intended_use")
        if len(text) > MAX_TEXT:
            raise forms.ValidationError(f"Write at most {MAX_TEXT} characters.")
        return text

    def clean_datasets(self) -> str:
        """The names, each of which a card can hold."""
        text: str = self.cleaned_data["datasets"]
        lines = _lines(text)
        if len(lines) > _MOST_DATASETS or any(len(line) > _MOST_DATASET for line in lines):
            raise forms.ValidationError(
                f"Name at most {_MOST_DATASETS} data sets, in {_MOST_DATASET} characters each."
            )
        return text

    def text(self, name: str) -> str:
        """What is in a field as it stands; "" where it is not asked for."""
        if name not in self.fields:
            return ""
        return str(self[name].value() or "").replace("\r\n", "\n").strip()


class CreatorForm(forms.Form):
    """A person or an organisation; empty, it is none."""

    name = forms.CharField(max_length=300, required=False, label="Name")
    orcid = forms.CharField(max_length=100, required=False, label="ORCID iD")
    affiliation = forms.CharField(max_length=300, required=False, label="Institution")
    ror = forms.CharField(max_length=100, required=False, label="ROR id of the institution")
    place = forms.CharField(max_length=6, required=False, widget=forms.HiddenInput)

    def clean_orcid(self) -> str:
        """As it was typed: whoever reads the card knows all spellings."""
        return self._checked("orcid", orcid_url)

    def clean_ror(self) -> str:
        """As it was typed."""
        return self._checked("ror", ror_url)

    def clean(self) -> dict[str, Any]:
        """Refuse what belongs to nobody."""
        if not self.text("name") and any(map(self.text, ("orcid", "affiliation", "ror"))):
            self.add_error("name", "Write the name, or empty the whole line.")
        return self.cleaned_data

    def text(self, name: str) -> str:
        """What is in a field as it stands."""
        return str(self[name].value() or "").strip()

    def creator(self) -> Creator | None:
        """Who it is; ``None`` for nobody."""
        if not any(map(self.text, ("name", "orcid", "affiliation", "ror"))):
            return None
        place = self.text("place")
        return Creator(
            name=self.text("name"),
            orcid=self.text("orcid"),
            affiliation=self.text("affiliation"),
            ror=self.text("ror"),
            place=int(place) if place.isdecimal() else None,
        )

    def _checked(self, name: str, check: Callable[[str], str]) -> str:
        text: str = self.cleaned_data[name]
        try:
            if text:
                check(text)
        except InvalidValue as fault:
            raise forms.ValidationError(f"{fault.message} {fault.fix}") from fault
        return text


CreatorFormSet = forms.formset_factory(
    CreatorForm,
    extra=0,
    max_num=MOST_CREATORS + 1,
    absolute_max=MOST_CREATORS + 1,
    validate_max=True,
)


class Questions:
    """The questions with what was answered so far.

    Attributes:
        creators: ``None`` where more are named than a form can hold; those stay.
    """

    def __init__(self, known: PrefilledAnswers, form: QuestionsForm, creators: Any) -> None:
        self._known = known
        self.form = form
        self.creators = creators

    @property
    def typed(self) -> Answers:
        """The answers as they stand, whether or not all of them can be taken."""
        creators = self._known.answers.creators
        if self.creators is not None:
            found = (row.creator() for row in self.creators)
            creators = tuple(one for one in found if one is not None)
        return Answers(
            title=self.form.text("title"),
            license=self.form.text("license"),
            creators=creators,
            task=self.form.text("task"),
            datasets=tuple(_lines(self.form.text("datasets"))),
            intended_use=self.form.text("intended_use"),
        )

    @property
    def blanks(self) -> int:
        """How many lines for creators are empty."""
        rows = self.creators if self.creators is not None else ()
        return sum(row.creator() is None for row in rows)

    def is_valid(self) -> bool:
        """Whether all answers can be taken."""
        is_whole = self.creators is None or self.creators.is_valid()
        return self.form.is_valid() and is_whole

    def refuse(self, error: Invalid) -> None:
        """Tell what the registry found wrong, beside the answer where that is known."""
        about_license = not {"license", "license_name"}.isdisjoint(error.fields)
        self.form.add_error("license" if about_license else None, str(error))


def asked(
    known: PrefilledAnswers, answers: Answers, *, blanks: int = 1, focus: bool = False
) -> Questions:
    """The questions with these answers in them.

    Args:
        blanks: Empty lines for more creators.
        focus: Whether the last of those is to be typed into.
    """
    initial = {
        "title": answers.title,
        "license": answers.license,
        "task": answers.task,
        "datasets": "\n".join(answers.datasets),
        "intended_use": answers.intended_use,
    }
    form = QuestionsForm(known=known, initial=initial)
    if _are_too_many(known):
        return Questions(known, form, None)
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
    return Questions(known, form, creators)


def bound(known: PrefilledAnswers, data: Mapping[str, Any]) -> Questions:
    """The questions as a browser sent them back."""
    form = QuestionsForm(cast("Any", data), known=known)
    if _are_too_many(known):
        return Questions(known, form, None)
    return Questions(known, form, CreatorFormSet(cast("Any", data), prefix=_PREFIX))


def anew(answers: Answers) -> Answers:
    """Answers to another card than they were given to: creators stand elsewhere in it."""
    return replace(answers, creators=tuple(replace(one, place=None) for one in answers.creators))


def _are_too_many(known: PrefilledAnswers) -> bool:
    return len(known.answers.creators) > MOST_CREATORS


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
