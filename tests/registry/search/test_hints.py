"""Unknown values: refused with the valid ones where the hub decides, hinted at where models do."""

import pytest
from django.contrib.auth.models import AnonymousUser

from registry.errors import Invalid
from registry.selectors.search.catalogue import catalogue_search
from registry.tables import Tag, Target
from tests.registry.search import rows

pytestmark = pytest.mark.django_db


def hints(query: str, actor: object = None) -> tuple[str, ...]:
    return catalogue_search(actor, query=query).hints  # type: ignore[arg-type]


def refusal(query: str, **options: str) -> str:
    with pytest.raises(Invalid) as refused:
        catalogue_search(None, query=query, **options)  # type: ignore[arg-type]
    assert refused.value.code == "invalid_query"
    return str(refused.value)


@pytest.fixture
def models() -> None:
    for number, task in enumerate(["image-classification", "image-classification", "translation"]):
        row = rows.mlmodel(f"lab/m{number}", task=task, license="mit")
        Tag.objects.create(mlmodel=row, value="astronomy")
        rows.announce(row)
    hidden = rows.mlmodel("secret-lab/hidden", task="treaty-analysis", visibility="private")
    rows.announce(hidden)


@pytest.mark.usefixtures("models")
def test_a_task_that_no_model_has_is_named_with_the_likely_one_and_all_others() -> None:
    (hint,) = hints("task:image-clasification")
    assert hint.startswith("No model has task:image-clasification. Did you mean image-class")
    assert hint.endswith("Values are image-classification, translation, treaty-analysis.")
    assert hints("license:gpl tag:astro") == (
        "No model has license:gpl. Values are mit.",
        "No model has tag:astro. Did you mean astronomy? Values are astronomy.",
    )
    assert hints("by:la") == ("No model has by:la. Did you mean lab?",)


@pytest.mark.usefixtures("models")
def test_what_exists_needs_no_hint() -> None:
    assert hints("task:translation") == ()
    assert hints("task:translation nothing-like-it") == ()
    assert hints("task:translation task:unknown") == ()


@pytest.mark.usefixtures("models")
def test_nobody_is_told_of_values_that_only_private_models_have() -> None:
    anybody = AnonymousUser()
    unknown = hints("task:treaty-analysiz", anybody)
    secret = hints("task:treaty-analysis", anybody)
    assert unknown[0].replace("analysiz", "analysis") == secret[0]
    assert "Did you mean" not in secret[0]
    assert hints("by:secret-la", anybody) == ("No model has by:secret-la.",)
    assert "Did you mean secret-lab?" in hints("by:secret-la")[0]
    assert hints("by:secret-lab") == ()


def test_an_unknown_target_is_refused_with_those_of_the_hub() -> None:
    assert "This hub has no target yet." in refusal("target:x86-64-avx2")
    for slug in ("x86-64-avx2", "nvidia-h200"):
        Target.objects.create(slug=slug, architecture="x")
    said = "There is no target 'x86-64-avx'. Did you mean x86-64-avx2? Targets are nvidia-h200, "
    assert said in refusal("target:x86-64-avx")
    assert said in refusal("", target="X86-64-avx")
    assert "Targets are" in refusal("target:speed.x86-64-avx2:[0")


def test_an_order_by_speed_needs_one_target() -> None:
    for slug in ("x86-64-avx2", "nvidia-h200"):
        Target.objects.create(slug=slug, architecture="x")
    both = "target:x86-64-avx2 target:nvidia-h200"
    said = refusal(f"{both} sort:latency")
    assert "The order latency needs one target" in said
    assert "Keep one of nvidia-h200, x86-64-avx2." in said
    assert catalogue_search(None, query=f"{both} sort:size").items == []


def test_filters_are_the_same_words_as_parameters() -> None:
    Target.objects.create(slug="x86-64-avx2", architecture="x")
    one = catalogue_search(
        None,
        **{
            "class": "mlp",
            "by": "lab",
            "latency": ["<5ms", ">1us"],
            "target": "x86-64-avx2",
            "tolerance": "int8",
            "task": None,
        },
    )
    other = catalogue_search(
        None,
        query="latency:>1us latency:<5ms target:x86-64-avx2 tolerance:int8",
        architecture_class="mlp",
        namespace="lab",
    )
    assert one.query == other.query
    assert "Did you mean latency?" in refusal("", latensy="<5ms")
