"""Forms of the questions about a model or a data set."""

from collections.abc import Callable
from typing import Any

from django import forms

from registry.errors import Invalid
from registry.fair.card.answers import QUESTIONS, Creator
from registry.fair.card.values import MAX_TEXT
from registry.selectors.repository.answers import PrefilledAnswers, kind_of
from registry.validation.findings import InvalidValue
from registry.validation.identifiers import orcid_url, ror_url
from registry.validation.license import license_of

#: Cards with more creators are edited in README.md: forms are limited in their fields.
MOST_CREATORS = 100
_MOST_DATASETS = 500
_MOST_DATASET = 500
#: Suggestions; all other licenses of the SPDX list are accepted, too.
LICENSES = (
    *("apache-2.0", "mit", "bsd-3-clause", "bsd-2-clause", "mpl-2.0", "lgpl-3.0-or-later"),
    *("gpl-3.0-or-later", "agpl-3.0-or-later", "eupl-1.2", "isc", "unlicense"),
    *("cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0"),
    *("odc-by", "odbl", "pddl", "openrail", "creativeml-openrail-m"),
)
#: Suggestions: the Hugging Face Hub's names, and some of scientific tasks.
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


class QuestionsForm(forms.Form):
    """All questions except the creators; a data set has fewer."""

    title = forms.CharField(
        max_length=300,
        required=False,
        label="Title",
        help_text="A descriptive title, such as: Galaxy shapes from SDSS images.",
    )
    license = forms.CharField(
        max_length=200,
        required=False,
        label="License",
        widget=forms.TextInput(attrs={"list": "licenses", "spellcheck": "false"}),
        help_text="An SPDX id, or LicenseRef-Name for a license of your own.",
    )
    task = forms.CharField(
        max_length=100,
        required=False,
        label="Task",
        widget=forms.TextInput(attrs={"list": "tasks", "spellcheck": "false"}),
        help_text="The task, by one of the common names.",
    )
    datasets = forms.CharField(
        max_length=_MOST_DATASETS * _MOST_DATASET,
        required=False,
        label="Training data",
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text="What it was trained on, one per line: namespace/name of a data set here, a DOI "
        "or an address.",
    )
    intended_use = forms.CharField(
        required=False,
        label="Intended use",
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="Purpose and audience. Markdown.",
    )

    def __init__(self, *args: Any, prefilled: PrefilledAnswers, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._prefilled = prefilled
        for name in self.fields.keys() - set(QUESTIONS[kind_of(prefilled.mlmodel)]):
            del self.fields[name]

    def clean_license(self) -> str:
        """The license; a changed one must exist."""
        text: str = self.cleaned_data["license"]
        if text != self._prefilled.answers.license:
            try:
                license_of({**self._prefilled.card.values, "license": text})
            except Invalid as error:
                raise forms.ValidationError(str(error)) from error
        return text

    def clean_intended_use(self) -> str:
        """The text, whose length is checked with line breaks of one character."""
        text = self.text("intended_use")
        if len(text) > MAX_TEXT:
            raise forms.ValidationError(f"Write at most {MAX_TEXT} characters.")
        return text

    def clean_datasets(self) -> str:
        """The names, within the limits of a card."""
        text: str = self.cleaned_data["datasets"]
        lines = lines_of(text)
        if len(lines) > _MOST_DATASETS or any(len(line) > _MOST_DATASET for line in lines):
            raise forms.ValidationError(
                f"Name at most {_MOST_DATASETS} data sets, in {_MOST_DATASET} characters each."
            )
        return text

    def text(self, name: str) -> str:
        """The text of a field, valid or not; "" for a question that is not asked."""
        if name not in self.fields:
            return ""
        return str(self[name].value() or "").replace("\r\n", "\n").strip()


class CreatorForm(forms.Form):
    """A creator: person or organisation. An empty row is none."""

    name = forms.CharField(max_length=300, required=False, label="Name")
    orcid = forms.CharField(max_length=100, required=False, label="ORCID iD")
    affiliation = forms.CharField(max_length=300, required=False, label="Institution")
    ror = forms.CharField(max_length=100, required=False, label="ROR id of the institution")
    place = forms.CharField(max_length=6, required=False, widget=forms.HiddenInput)

    def clean_orcid(self) -> str:
        """The ORCID iD as typed: readers of cards accept all spellings."""
        return self._checked("orcid", orcid_url)

    def clean_ror(self) -> str:
        """The ROR id as typed."""
        return self._checked("ror", ror_url)

    def clean(self) -> dict[str, Any]:
        """Refuse a row without a name."""
        if not self.text("name") and any(map(self.text, ("orcid", "affiliation", "ror"))):
            self.add_error("name", "Enter the name, or clear the row.")
        return self.cleaned_data

    def text(self, name: str) -> str:
        """The text of a field, valid or not."""
        return str(self[name].value() or "").strip()

    def creator(self) -> Creator | None:
        """The creator; ``None`` for an empty row."""
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


def lines_of(text: str) -> list[str]:
    """The lines of ``text``, stripped, without empty ones."""
    return [line.strip() for line in text.splitlines() if line.strip()]
