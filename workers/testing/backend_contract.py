"""Contract of backends. Subclass and set the attribute ``backend``::

    class TestMine(BackendContract):
        backend = MyBackend
        heavy = ("my_library",)

Backends that compile ONNX networks subclass
:class:`workers.testing.compiler_contract.CompilerContract` instead, which includes this one.
Candidates are built and run in a confined child process that all tests of a class share.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import ClassVar

import pytest

from hpcfair import machine
from hpcfair.isolation.limits import Limits
from hpcfair.runtimes import registry
from workers.engine.errors import CandidateFailed
from workers.engine.local import LocalDevice
from workers.engine.numerics import check, require, run_reference
from workers.engine.ports import Backend
from workers.engine.requests import TuningRequest
from workers.engine.testset import make_test_set
from workers.engine.types import Network, Options, TargetSpec
from workers.testing import networks
from workers.testing.builds import (
    assert_close,
    check_profile,
    digests,
    opened_otherwise,
    python,
    run_as_a_user,
    timeless,
)  # fmt: skip
from workers.testing.placement_contract import PlacementContract
from workers.testing.reused import ReusedChild, ReusedDevice

NETWORKS = {
    "mlp": networks.mlp,
    "residual-cnn": networks.residual_cnn,
    "transformer": networks.transformer,
}
_LIMITS = Limits(wall_s=600, memory_bytes=4 * 2**30, file_bytes=2**30)
SEED = 7


def this_target() -> TargetSpec:
    """The target of this machine."""
    here = machine.describe()
    target = machine.target_of(here)
    return TargetSpec(
        slug=target.slug,
        architecture=here.architecture,
        features=frozenset(target.features),
        cores=here.cores,
        memory_bytes=here.memory_bytes,
    )


class BackendContract(PlacementContract):
    """The contract of all backends.

    Attributes:
        backend: The class under test.
        heavy: Top-level modules that only child processes may import.
        sampled: Random candidates per network, besides default and reference.
        process: Child process shared by all tests of a class.
    """

    backend: ClassVar[type[Backend]]
    heavy: ClassVar[tuple[str, ...]] = ()
    sampled: ClassVar[int] = 3
    process: ClassVar[ReusedChild]

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def child(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        """Ends :attr:`process` with the last test of the class."""
        with ReusedChild(tmp_path_factory.getbasetemp(), _LIMITS) as cls.process:
            yield

    @pytest.fixture
    def target(self) -> TargetSpec:
        return this_target()

    @pytest.fixture(params=sorted(NETWORKS))
    def network(self, request: pytest.FixtureRequest, tmp_path: Path) -> Network:
        return networks.write(NETWORKS[request.param](), tmp_path / "model")

    @pytest.fixture
    def small(self, tmp_path: Path) -> Network:
        """A small network, for tests that do not depend on the network."""
        return networks.write(networks.mlp(), tmp_path / "model")

    def device_for(self, network: Network, target: TargetSpec, folder: Path) -> LocalDevice:
        """A device for one network with its scratch folder below ``folder``."""
        scratch = folder / "scratch"
        scratch.mkdir(exist_ok=True)
        backend = self.backend()
        request = TuningRequest(network, target, (backend.name,), limits=_LIMITS)
        return ReusedDevice(request, {backend.name: backend}, scratch, self.process)

    def candidates(self, network: Network, target: TargetSpec) -> list[Options]:
        """Default, reference and random options."""
        backend = self.backend()
        space, rng = backend.space(network, target), Random(SEED)  # noqa: S311
        fixed = [backend.default(network, target), backend.reference(network, target)]
        return fixed + [space.sample(rng) for _ in range(self.sampled)]

    def test_probe_names_the_versions_it_uses(self, target: TargetSpec) -> None:
        versions = self.backend().probe(target)
        assert versions
        assert all(isinstance(v, str) and v for v in (*versions, *versions.values()))

    def test_default_and_reference_are_in_the_space(
        self, network: Network, target: TargetSpec
    ) -> None:
        backend = self.backend()
        space = backend.space(network, target)
        for options in self.candidates(network, target):
            assert space.contains(options), options
            assert json.loads(json.dumps(options)) == options

    def test_no_configuration_is_in_the_space_twice(
        self, network: Network, target: TargetSpec
    ) -> None:
        every = list(self.backend().space(network, target).enumerate())
        assert len({json.dumps(options, sort_keys=True) for options in every}) == len(every) > 1

    def test_the_space_is_known_without_the_library(self) -> None:
        module, name = self.backend.__module__, self.backend.__qualname__
        code = (
            f"import sys; from {module} import {name}\n"
            "from workers.engine.types import TargetSpec, Network; from pathlib import Path\n"
            "w = Network(Path('m.onnx'), '', '', 'mlp', (), (), {'Gemm': 1}, 1, 1)\n"
            "t = TargetSpec('arm64-generic', 'arm64', frozenset(), 4, None)\n"
            f"b = {name}(); b.space(w, t); b.default(w, t); b.reference(w, t); b.probe(t)\n"
            f"print([m for m in {self.heavy!r} if m in sys.modules])"
        )
        assert python(code).strip() == "[]"

    def test_every_candidate_agrees_with_the_reference(
        self, network: Network, target: TargetSpec, tmp_path: Path
    ) -> None:
        with self.device_for(network, target, tmp_path) as device:
            backend = self.backend()
            tests = make_test_set(network, {}, SEED)
            reference = device.build(backend.name, backend.reference(network, target))
            with closing(
                device.open(backend.name, reference, "reference", tests.timing)
            ) as session:
                expected = run_reference(session, tests)
            for options in self.candidates(network, target):
                build = device.build(backend.name, options)
                assert build.outcome == "measured", (options, build.detail)
                with closing(
                    device.open(backend.name, build, "candidate", tests.timing)
                ) as session:
                    require(check(session, tests, expected), build.tolerance, None, None)
                    timing = session.time(runs=3, warmup=1)
                assert len(timing.samples_ns) == 3
                device.discard(build)

    def test_the_same_options_give_the_same_bytes(
        self, small: Network, target: TargetSpec, tmp_path: Path
    ) -> None:
        with self.device_for(small, target, tmp_path) as device:
            candidates = self.candidates(small, target)
            builds = []
            self.process.close()
            for options in candidates:
                first = device.build(self.backend().name, options)
                builds.append((first, digests(first)))
                # The device shares files of existing builds.
                device.discard(first)
            # In another process with as many builds: OpenVINO numbers names.
            self.process.close()
            for options, (first, one) in zip(candidates, builds, strict=True):
                again = device.build(self.backend().name, options)
                other = digests(again)
                if first.provenance.get("reproducible", True):
                    assert one == other, options
                assert one.keys() == other.keys()
                assert timeless(first) == timeless(again)
                device.discard(again)

    def test_builds_that_differ_in_opening_alone_share_their_files(
        self, small: Network, target: TargetSpec, tmp_path: Path
    ) -> None:
        backend = self.backend()
        options = backend.default(small, target)
        variant = opened_otherwise(self.backend.opening, options, backend.space(small, target))
        with self.device_for(small, target, tmp_path) as device:
            self.process.close()
            first = device.build(backend.name, options)
            files = digests(first)
            device.discard(first)
            self.process.close()
            built = device.build(backend.name, variant)
            assert digests(built).keys() == files.keys()
            if built.provenance.get("reproducible", True):
                assert digests(built) == files
            files = digests(built)
            shared = device.build(backend.name, options)
            assert (digests(shared), shared.runtime_options) == (files, first.runtime_options)

    def test_a_profile_names_what_runs_and_the_nodes_it_computes_or_says_why_not(
        self, target: TargetSpec, tmp_path: Path
    ) -> None:
        model = networks.residual_cnn()
        network = networks.write(model, tmp_path / "model")
        backend = self.backend()
        with self.device_for(network, target, tmp_path) as device:
            build = device.build(backend.name, backend.default(network, target))
            inputs = make_test_set(network, {}, SEED).timing
            try:
                profile = device.profile(backend.name, build, inputs, tmp_path / "code")
            except CandidateFailed as failure:
                ended = (failure.outcome, bool(str(failure)))
            else:
                check_profile(profile, len(model.graph.node), tmp_path / "code")
                ended = ("invalid", True)
        assert ended == ("invalid", True)

    def test_a_build_can_be_moved(self, small: Network, target: TargetSpec, tmp_path: Path) -> None:
        with self.device_for(small, target, tmp_path) as device:
            self._move(small, target, device, tmp_path)

    def _move(
        self, network: Network, target: TargetSpec, device: LocalDevice, tmp_path: Path
    ) -> None:
        backend = self.backend()
        inputs = make_test_set(network, {}, SEED).timing
        moved, expected = [], []
        for number, options in enumerate(self.candidates(network, target)):
            build = device.build(backend.name, options)
            with closing(device.open(backend.name, build, "candidate", inputs)) as session:
                expected.append(session.run(inputs))
            assert build.directory is not None
            elsewhere = tmp_path / f"elsewhere-{number}"
            moved.append(replace(build, directory=build.directory.rename(elsewhere)))
        if all(build.runtime in registry.entries() for build in moved):
            outputs = run_as_a_user(moved, inputs, tmp_path)
        else:
            outputs = []
            for build in moved:
                with closing(device.open(backend.name, build, "candidate", inputs)) as session:
                    outputs.append(session.run(inputs))
        for before, after in zip(expected, outputs, strict=True):
            for name, array in before.items():
                assert_close(after[name], array)
