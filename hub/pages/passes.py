"""The page of compiler passes: which ones each class of networks needs."""

from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub.pages.chart import Chart
from hub.pages.chart.passes import effects_chart
from hub.pages.views import page
from registry.errors import Invalid
from registry.selectors.analysis.passes import ClassPasses, class_passes
from registry.selectors.work.target import target_get, targets
from registry.states import ArchitectureClass

#: What Verma et al. published, by class: on their machines and with another version of the
#: compiler, so that the figures are to be read beside ours, not as their limit.
PUBLISHED: Final = {
    ArchitectureClass.RESIDUAL_CNN: (
        "compile time −15 %; throughput +24 % (from TensorFlow), +32 % (from PyTorch)"
    ),
    ArchitectureClass.DEPTHWISE_CNN: "compile time −45 %",
    ArchitectureClass.DETECTION: "compile time −54 %",
    ArchitectureClass.TRANSFORMER: "compile time −92 %",
}
#: Names of the authors' classes.
_THEIR_NAMES: Final = {
    ArchitectureClass.RESIDUAL_CNN: "ResNets",
    ArchitectureClass.DEPTHWISE_CNN: "MobileNet",
    ArchitectureClass.DETECTION: "SSD",
    ArchitectureClass.TRANSFORMER: "BERT",
}


@dataclass(frozen=True, slots=True)
class ShownClass:
    """The evidence of a class, its chart, and what was published of it."""

    evidence: ClassPasses
    chart: Chart | None
    published: str


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A published figure beside ours: the best lossless list of each target and backend."""

    name: str
    label: str
    published: str
    ours: list[ClassPasses]


@page
def passes(request: HttpRequest) -> HttpResponseBase:
    """Lists and single passes by class, with their evidence, and the published figures."""
    target, backend, of_class = (
        request.GET.get(name, "") for name in ("target", "backend", "class")
    )
    if target:
        target_get(target)
    if of_class and of_class not in ArchitectureClass.values:
        raise Invalid(
            "invalid_request",
            f"There is no class {of_class[:64]!r}.",
            f"Use one of {', '.join(ArchitectureClass.values)}.",
        )
    every = class_passes(request.user)
    shown = [
        each
        for each in every
        if (not target or each.target == target)
        and (not backend or each.backend == backend)
        and (not of_class or each.architecture_class == of_class)
    ]
    context = {
        "section": "targets",
        "shown": [
            ShownClass(
                each,
                effects_chart(
                    each.effects, name=f"effects-{number}", title=f"Without one pass: {each.title}"
                ),
                PUBLISHED.get(ArchitectureClass(each.architecture_class), ""),
            )
            for number, each in enumerate(shown)
        ],
        "published": [
            PublishedRow(
                _THEIR_NAMES[name],
                str(name.label),
                text,
                [each for each in shown if each.architecture_class == name],
            )
            for name, text in PUBLISHED.items()
        ],
        "targets": [one.slug for one in targets()],
        "backends": sorted({each.backend for each in every}),
        "classes": sorted({each.architecture_class for each in every}),
        "target": target,
        "backend": backend,
        "of_class": of_class,
    }
    return render(request, "passes/page.html", context)
