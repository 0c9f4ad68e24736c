"""The networks of the benchmark ``passes``, and the study of one of them."""

import tempfile
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx

from benchmarks.networks import example, network_of
from benchmarks.report import say
from benchmarks.scheduling import with_schedules
from examples.models.light import images
from examples.models.seeding import settle
from examples.models.text import Bert
from examples.models.vision import mobilenet_v2, resnet18, ssd_mobilenet
from workers.backends.normalform import NORMALISER
from workers.engine.clock import SystemClock
from workers.engine.errors import CandidateFailed, ReferenceFailed
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.passes.device import LocalCompiler
from workers.engine.passes.evaluation import ComparisonEffort, DevicePassEvaluator
from workers.engine.passes.menu import DEFAULT, Menu, PassBackend
from workers.engine.passes.objective import PassComparison, PassTrial
from workers.engine.passes.study import StudyBudget, study
from workers.engine.ports import Backend
from workers.engine.requests import TuningRequest
from workers.engine.types import Network, TargetSpec

Maker = Callable[[Path], Network]


@dataclass(frozen=True, slots=True)
class Subject:
    """A network.

    Attributes:
        figure: Name of the figure that it counts for.
        heavy: Whether code without schedules takes seconds per run; it is then measured with ONNX
            Runtime or with schedules only.
    """

    name: str
    figure: str
    make: Maker
    heavy: bool = False


@dataclass(slots=True)
class NetworkStudy:
    """Results for a network and a compiler.

    Attributes:
        winners: Winning lists of its own study.
        findings: ``(list, baseline list)`` to the comparison.
    """

    subject: Subject
    architecture_class: str
    menu: Menu
    winners: tuple[PassTrial, ...] = ()
    comparisons: dict[tuple[str, str], PassComparison] = field(default_factory=dict)

    @property
    def full(self) -> str:
        """The full list of passes; the compiler's own if there is no other."""
        return self.menu.value(self.menu.full) if self.menu.full else DEFAULT


def _vision(build: Callable[[np.random.Generator, int], onnx.ModelProto], size: int) -> Maker:
    def make(cache: Path) -> Network:
        folder = cache / "passes" / f"{build.__name__}-{size}"

        def model() -> onnx.ModelProto:
            rng = np.random.default_rng(0)
            module = build(rng, size)
            settle(module, {"input": images(rng, 4, (3, size, size))})
            return module

        return _cached(folder, model)

    return make


def _text(bert: Bert) -> Maker:
    def make(cache: Path) -> Network:
        folder = cache / "passes" / f"bert-{bert.layers}x{bert.width}x{bert.sequence}"
        return _cached(folder, lambda: bert.model(np.random.default_rng(0)))

    return make


def _cached(folder: Path, make: Callable[[], onnx.ModelProto]) -> Network:
    path = folder / "model.onnx"
    if not path.exists():
        say(f"making {folder.name}")
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(make(), path)
    return network_of(folder)


def _example(name: str) -> Maker:
    return lambda cache: example(name, cache)


#: Small images, since code without schedules is slow. The compiled code differs only in the lengths
#: of some loops.
SUBJECTS = (
    Subject("resnet18", "resnet", _vision(resnet18, 64)),
    Subject("resnet50", "resnet", _example("resnet50"), heavy=True),
    Subject("mobilenetv2", "mobilenet", _vision(mobilenet_v2, 64)),
    Subject("shufflenet", "mobilenet", _example("shufflenet"), heavy=True),
    Subject("ssd_128", "ssd", _vision(ssd_mobilenet, 128)),
    Subject("ssd_300", "ssd", _vision(ssd_mobilenet, 300), heavy=True),
    Subject("bert_2", "bert", _text(Bert(layers=2, width=256, heads=4, sequence=64))),
    Subject("bert_4", "bert", _text(Bert(layers=4, width=512, heads=8, sequence=64))),
)
QUICK = (
    Subject("mobilenetv2", "mobilenet", _vision(mobilenet_v2, 32), heavy=True),
    Subject("bert_1", "bert", _text(Bert(1, 64, 2, 500, 16))),
)


def subjects_of(names: str) -> tuple[Subject, ...]:
    """Networks by name, joined by commas: an argument of a command. Raises ArgumentTypeError
    for an unknown network; the message lists all."""
    every = {subject.name: subject for subject in SUBJECTS}
    if unknown := [name for name in names.split(",") if name not in every]:
        raise ArgumentTypeError(f"no network {', '.join(unknown)}; there are {', '.join(every)}")
    return tuple(every[name] for name in names.split(","))


@dataclass(frozen=True, slots=True)
class Laboratory:
    """The setup of the studies. ``schedules``: folder with ``NAME.jsonl`` of tuned schedules;
    ``None`` for untuned code."""

    target: TargetSpec
    backends: Mapping[str, Backend]
    cache: Path
    schedules: Path | None = None

    def tuned(self, subject: Subject) -> Path | None:
        """The file of the network's schedules, if there is one."""
        path = self.schedules / f"{subject.name}.jsonl" if self.schedules else None
        return path if path is not None and path.exists() else None

    def network(self, subject: Subject) -> Network:
        """The network, with its schedules if there are any."""
        return with_schedules(subject.make(self.cache), self.tuned(subject))

    def study(self, subject: Subject, compiler: str, budget: StudyBudget) -> NetworkStudy | None:
        """Study a network and measure its full list; ``None`` if the compiler rejects it."""
        network = self.network(subject)
        try:
            with self.evaluator(network, compiler) as (evaluator, menu):
                network_study = NetworkStudy(subject, network.architecture_class, menu)
                done = study(menu, evaluator, budget, SystemClock())
                network_study.winners = done.winners
                for trial in done.trials:
                    network_study.comparisons[trial.passes, DEFAULT] = trial.comparison
                say(f"{subject.name} {compiler}: {done.stop_reason}")
                return network_study
        except (CandidateFailed, ReferenceFailed) as error:
            say(f"{subject.name} {compiler}: {str(error).splitlines()[0][:300]}")
            return None

    def compare(
        self,
        network_study: NetworkStudy,
        compiler: str,
        lists: Sequence[str],
        effort: ComparisonEffort,
    ) -> None:
        """Compare lists that the network's own study did not try with the compiler's own."""
        missing = [each for each in lists if (each, DEFAULT) not in network_study.comparisons]
        self._measure(network_study, compiler, [(each, DEFAULT) for each in missing], effort)

    def confirm(
        self, network_study: NetworkStudy, compiler: str, value: str, effort: ComparisonEffort
    ) -> None:
        """Compare one list with the compiler's own and with the full one."""
        pairs = {(value, DEFAULT), (value, network_study.full)} - {(DEFAULT, DEFAULT)}
        self._measure(network_study, compiler, sorted(pairs), effort)

    def _measure(
        self,
        network_study: NetworkStudy,
        compiler: str,
        pairs: Sequence[tuple[str, str]],
        effort: ComparisonEffort,
    ) -> None:
        if not pairs:
            return
        with self.evaluator(self.network(network_study.subject), compiler) as (evaluator, _):
            for value, against in pairs:
                try:
                    comparison = evaluator.compare(value, effort, against)
                except CandidateFailed as error:
                    comparison = PassComparison(error.outcome, str(error))
                network_study.comparisons[value, against] = comparison

    @contextmanager
    def evaluator(
        self, network: Network, compiler: str
    ) -> Iterator[tuple[DevicePassEvaluator, Menu]]:
        """An evaluator of lists of passes on a network, and the menu. Raises CandidateFailed,
        ReferenceFailed if the compiler, or the reference, rejects it."""
        backend = self.backends[compiler]
        assert isinstance(backend, PassBackend)
        request = TuningRequest(network, self.target, (compiler,), normaliser=NORMALISER)
        menu = backend.menu(network, self.target)
        with (
            tempfile.TemporaryDirectory(prefix="hpcfair-passes-") as scratch,
            LocalCompiler(request, self.backends, Path(scratch)) as device,
            EvaluationContext(
                request, self.backends[request.reference_backend], device, SystemClock()
            ) as context,
            DevicePassEvaluator(context, device, compiler, menu) as evaluator,
        ):
            yield evaluator, menu
