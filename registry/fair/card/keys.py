"""The supported keys of cards: the one list, from which the reference of the manual is written."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CardKey:
    """A key of a card's front matter.

    Attributes:
        form: Accepted values.
        meaning: What they state.
    """

    form: str
    meaning: str


_TEXT = "text"
_REPOSITORIES = "one or several: `namespace/name` on this hub, a DOI, or a URL"
_AGENTS = (
    "list of names, `Name <address>`, or mappings of `name`, `orcid`, `affiliation` (`name`, "
    "`ror`), `roles`, `organization`"
)

CARD_KEYS: Mapping[str, CardKey] = {
    "model_name": CardKey(_TEXT, "Title."),
    "title": CardKey(_TEXT, "Title, if there is no `model_name`."),
    "pretty_name": CardKey(_TEXT, "Title of a data set."),
    "license": CardKey(
        "SPDX expression, or the Hugging Face Hub's id of a license", "License of the files."
    ),
    "license_name": CardKey(_TEXT, "Name of a license that SPDX does not list (`license: other`)."),
    "license_link": CardKey("path of a file, or URL", "Text of that license."),
    "authors": CardKey(_AGENTS, "Creators. Without this key they are unknown."),
    "contributors": CardKey(_AGENTS, "Others who contributed."),
    "contact": CardKey("e-mail address, or name", "Person who answers questions."),
    "funding": CardKey(
        "mapping or list of mappings of `funder`, `ror`, `award`, `title`", "Funders and grants."
    ),
    "pipeline_tag": CardKey("such as `image-classification`", "Task."),
    "library_name": CardKey("such as `onnx`", "Library that the files belong to."),
    "tags": CardKey("list of texts", "Keywords; `arxiv:` and `doi:` refer to papers."),
    "language": CardKey("ISO 639 codes or BCP 47 tags", "Natural languages of the data."),
    "version": CardKey("text in quotes", "Version that the authors state."),
    "doi": CardKey("DOI", "A publication about the model, not the model itself."),
    "papers": CardKey("list of DOIs, arXiv ids or URLs", "Publications about the model."),
    "code": CardKey("URL", "Source code."),
    "base_model": CardKey(_REPOSITORIES, "Models that this one was made from."),
    "base_model_relation": CardKey(
        "`finetune`, `quantized`, `adapter`, `merge`, `distilled`, `exported`...",
        "How it was made from them.",
    ),
    "datasets": CardKey(_REPOSITORIES, "Training data."),
    "validation_datasets": CardKey(_REPOSITORIES, "Validation data."),
    "test_datasets": CardKey(_REPOSITORIES, "Test data."),
    "model-index": CardKey("list in the Hugging Face Hub's format", "Evaluation results."),
    "co2_eq_emissions": CardKey(
        "grams, or a mapping of `emissions`, `source`...", "Emissions of the training."
    ),
    "intended_use": CardKey(_TEXT, "What the model is for; else the section of that heading."),
    "out_of_scope": CardKey(_TEXT, "What it is not for; else the section of that heading."),
    "limitations": CardKey(_TEXT, "Known limitations; else the section of that heading."),
    "ethics": CardKey(_TEXT, "Ethical considerations; else the section of that heading."),
    "usage": CardKey(_TEXT, "How to use it; else the section of that heading."),
    "use_restrictions": CardKey(_TEXT, "Restrictions on use; else the section of that heading."),
    "extra_gated_prompt": CardKey(_TEXT, "Restrictions on use, if no other text states them."),
}
