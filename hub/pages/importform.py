"""The form of an import of a model of another server."""

from typing import Any

from django import forms

from registry.states import Visibility

_HINT = "Write org/name, or the address of its page."


class ImportForm(forms.Form):
    """Origin, name of the copy, and what a private, gated or unlicensed model needs.

    Args:
        servers: Addresses of the servers that the operator lists.
        namespaces: Owners among whom to choose; empty for a model that exists.
        is_imported: Whether the model has an origin already, which then cannot be chosen.
    """

    server = forms.ChoiceField()
    origin = forms.CharField(max_length=500, label="Model there", help_text=_HINT)
    namespace = forms.ChoiceField(label="Owner of the copy")
    name = forms.CharField(
        max_length=96,
        required=False,
        label="Name of the copy",
        help_text="If empty, the name that it has there.",
    )
    revision = forms.CharField(
        max_length=200,
        required=False,
        help_text="Branch, tag or commit id there; if empty, its default branch.",
    )
    token = forms.CharField(
        max_length=500,
        required=False,
        label="Your token for that server",
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="Only for a private or gated model. It is sent to that server only, stored "
        "encrypted, and erased when the import ends.",
    )
    license = forms.CharField(
        max_length=200,
        required=False,
        help_text="Only if its card there states none: the license that you were granted.",
    )
    visibility = forms.ChoiceField(
        required=False,
        choices=[
            ("", "private, unless its license lets anyone pass it on"),
            (Visibility.PUBLIC, "public: I may publish it"),
            (Visibility.PRIVATE, "private"),
        ],
    )
    overwrite = forms.BooleanField(
        required=False,
        label="Replace files that were changed here, too",
        help_text="The history keeps them.",
    )

    def __init__(
        self,
        *args: Any,
        servers: list[str],
        namespaces: list[str] | None = None,
        is_imported: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._servers = servers
        self._choose("server", servers)
        self._choose("namespace", namespaces or [])
        dropped = ["namespace", "name"] if not namespaces else []
        dropped += ["server", "origin"] if is_imported else ["overwrite"]
        if len(servers) == 1 and not is_imported:
            # One server is no choice.
            dropped.append("server")
        for name in dropped:
            del self.fields[name]

    def clean(self) -> dict[str, Any]:
        """Take an address apart: of a page on a listed server, perhaps of a revision."""
        data = super().clean() or {}
        text = data.get("origin", "").strip().removeprefix("hf:")
        if len(self._servers) == 1:
            data["server"] = self._servers[0]
        for server in self._servers:
            if text.startswith(f"{server}/"):
                data["server"], text = server, text.removeprefix(f"{server}/")
        if "://" in text:
            offered = ", ".join(self._servers)
            raise forms.ValidationError({"origin": f"This hub imports from {offered} only."})
        text, _, revision = text.partition("@")
        parts = text.strip("/").split("/")
        if len(parts) > 3 and parts[2] == "tree":
            revision, parts = "/".join(parts[3:]), parts[:2]
        data["origin"] = "/".join(parts)
        data["revision"] = data.get("revision") or revision
        return data

    def _choose(self, name: str, choices: list[str]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
        field.choices = [(choice, choice) for choice in choices]
