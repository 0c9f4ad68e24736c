"""Forms for publishing in the browser."""

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

from django import forms
from django.core.files.uploadedfile import UploadedFile

from registry.states import RepositoryKind, Visibility
from registry.validation.card_edit import edit


class NewModelForm(forms.Form):
    """Kind, namespace, name, visibility."""

    kind = forms.TypedChoiceField(
        label="What",
        choices=[(RepositoryKind.MODEL, "model"), (RepositoryKind.DATASET, "data set")],
        coerce=RepositoryKind,
        empty_value=RepositoryKind.MODEL,
        required=False,
    )

    namespace = forms.ChoiceField(label="Owner")
    name = forms.CharField(max_length=96, help_text="Letters, digits, - . _")
    visibility = forms.TypedChoiceField(
        required=False,
        empty_value=None,
        choices=[
            ("", "the owner's default: public, unless an organisation chose private"),
            (Visibility.PUBLIC, "public: everybody can find and load it once it passed its checks"),
            (Visibility.PRIVATE, "private: members of its owner only"),
        ],
    )

    def __init__(self, *args: Any, namespaces: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["namespace"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
        field.choices = [(name, name) for name in namespaces]


class _ManyFilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class _ManyFiles(forms.FileField):
    widget = _ManyFilesInput

    def clean(self, data: Any, initial: Any = None) -> "list[UploadedFile[bytes]]":
        files = data if isinstance(data, list | tuple) else [data]
        return [super(_ManyFiles, self).clean(file, initial) for file in files if file]


class TuneForm(forms.Form):
    """A search: on which target, or on all, and of how many seconds, or as many as the hub's."""

    target = forms.CharField(required=False, max_length=64)
    budget_s = forms.FloatField(required=False)


class UploadForm(forms.Form):
    """Files, card, license and message of one commit.

    Args:
        asks_license: Whether the repository has no license yet, so that the form asks for it.
    """

    uploads = _ManyFiles(
        required=False,
        label="Files",
        help_text="Of a model: model.onnx, its external data, samples.npz with test tensors",
    )
    license = forms.CharField(
        max_length=200,
        required=False,
        help_text="An SPDX expression such as apache-2.0 or mit: without a license, nobody is "
        "permitted to use the files. It is written into the card.",
    )
    card = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 14, "spellcheck": "false"}),
        label="Card (README.md)",
        help_text="YAML between the --- lines, Markdown below. If empty, the card does not change; "
        "a new model gets one from the questions on the next page.",
        required=False,
        strip=False,
    )
    message = forms.CharField(max_length=500, required=False, label="What changed")

    def __init__(self, *args: Any, asks_license: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not asks_license:
            del self.fields["license"]

    def contents(self, name: str) -> Iterator[tuple[str, BinaryIO]]:
        """Path and bytes of each file of the commit to the repository ``name``."""
        # Browsers send CRLF from a text area.
        card = self.cleaned_data["card"].replace("\r\n", "\n")
        if license_id := self.cleaned_data.get("license", "").strip():
            card = edit(card if card.strip() else f"# {name}\n", {"license": license_id})
        if card.strip():
            yield "README.md", io.BytesIO(card.encode())
        for file in self.cleaned_data["uploads"]:
            yield file.name, file.file
