"""From an exported program to an AOTInductor package. Runs in the limited child of a build.

``torch.export.load`` falls back to unpickling without limits where a file asks for it. Inspection
lets no such file pass; here the environment forbids the fallback besides, and the child can write
nothing but its workspace.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch._inductor import aoti_compile_and_package, cpu_vec_isa, debug

from hpcfair.runtimes.base import Tensor
from hpcfair.runtimes.tensors import MappedTensor, write_tensors
from workers.backends.torch.package import forget_folders
from workers.engine.binding import Misfit, bind
from workers.engine.errors import InvalidCandidate
from workers.engine.types import Network, Options, TargetSpec, TensorSpec

_AVX512 = frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl"})
#: Where a node came from in its author's files: nobody's business, and no part of the program.
_TRACES = ("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn", "custom")
_EFFORTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "freezing": {"freezing": True},
    "max-autotune": {"freezing": True, "max_autotune": True},
}
_WATCHED: dict[str, Any] = {"cpp.enable_kernel_profile": True, "trace.provenance_tracking_level": 1}


def compile_program(
    program: Path, network: Network, target: TargetSpec, options: Options, package: Path
) -> dict[str, Any]:
    """Write ``package`` and its ``tensors.json``; returns provenance.

    Raises:
        InvalidCandidate: PyTorch cannot load or compile the program, or it is not this network.
    """
    with refusing():
        exported = prepared(program, network, options, package.parent)
        make_package(exported, target, options, package)
    return {
        "march": generation(target),
        "precisions": [str(options["precision"])],
        "options": dict(options),
        # The library names the folder it was compiled in, which differs each time.
        "reproducible": False,
    }


@contextmanager
def refusing() -> Iterator[None]:
    """PyTorch raises whatever it stumbles over: the candidate's failure.

    Raises:
        InvalidCandidate: it did; says over what.
    """
    try:
        yield
    except (InvalidCandidate, MemoryError):
        raise
    except Exception as error:
        reason = str(error).strip().partition("\n\n")[0]
        raise InvalidCandidate(f"Inductor: {type(error).__name__}: {reason}") from error


def prepared(program: Path, network: Network, options: Options, folder: Path) -> Any:
    """The exported program as it is compiled; its ``tensors.json`` is written to ``folder``."""
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
    with _without_chmod():
        exported = load_program(program, network, folder)
        return _in_bfloat16(exported) if options["precision"] == "bfloat16" else exported


def make_package(
    exported: Any, target: TargetSpec, options: Options, package: Path, *, watched: bool = False
) -> dict[str, tuple[str, ...]]:
    """Compile a program into ``package``.

    Args:
        watched: Let the package tell PyTorch's profiler what it calls and when, which costs about
            a microsecond a call.

    Returns:
        If watched: each call in order, as ``kernel:number``, with the nodes of the program that
        it computes.
    """
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path(tempfile.gettempdir(), "inductor"))
    settings = {
        **_EFFORTS[str(options["effort"])],
        "compile_threads": 1,
        "cpp.march": generation(target),
        # Asked by compiling and starting programs otherwise; the target has been chosen already.
        "cpp.vec_isa_ok": True,
        # As many as the process that opens it is told to use, not as many as there are here.
        "cpp.dynamic_threads": True,
        "aot_inductor.enable_line_tables": False,
        "aot_inductor.enable_frame_pointer": False,
        # Pays for the second program compiled in a folder, and a child compiles one.
        "aot_inductor.precompile_headers": False,
        **(_WATCHED if watched else {}),
    }
    origins: dict[str, tuple[str, ...]] = {}
    with _without_chmod(), _instructions(target), _origins(origins):
        aoti_compile_and_package(exported, package_path=str(package), inductor_configs=settings)
    forget_folders(package)
    return origins


def load_program(program: Path, network: Network, folder: Path) -> Any:
    """The exported program, and which tensors of the graph its own stand for in ``folder``.

    Raises:
        InvalidCandidate: it is not this network.
    """
    exported = torch.export.load(program)
    for node in exported.graph.nodes:
        for trace in _TRACES:
            node.meta.pop(trace, None)
    signature = exported.graph_signature
    values = {node.name: node.meta.get("val") for node in exported.graph.nodes}
    try:
        sides = [
            _mapped(tuple(_spec(name, values[name]) for name in names), graph)
            for names, graph in (
                (signature.user_inputs, network.inputs),
                (signature.user_outputs, network.outputs),
            )
        ]
    except Misfit as error:
        raise InvalidCandidate(f"{program.name} is not this network: {error}") from error
    write_tensors(folder, *sides)
    return exported


def _spec(name: str, value: Any) -> TensorSpec:
    if not isinstance(value, torch.Tensor):
        raise Misfit(f"{name} is no tensor")
    sizes = tuple(size if isinstance(size, int) else "?" for size in value.shape)
    return TensorSpec(name, str(value.dtype).removeprefix("torch."), sizes)


def _mapped(own: tuple[TensorSpec, ...], graph: tuple[TensorSpec, ...]) -> tuple[MappedTensor, ...]:
    bindings = bind(own, graph, resizable=False)
    return tuple(
        MappedTensor(Tensor(spec.name, spec.dtype, spec.shape), binding.index, binding.order)
        for spec, binding in zip(graph, bindings, strict=True)
    )


def _in_bfloat16(exported: Any) -> Any:
    """The program under autocast: products in bfloat16, inputs and outputs as they were."""
    inner = exported.module()
    names = set(exported.graph_signature.user_inputs)
    inputs = [node.meta["val"] for node in exported.graph.nodes if node.name in names]

    class Lowered(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, *args: Any) -> Any:
            with torch.autocast("cpu", torch.bfloat16):
                outputs = self.inner(*args)
            return torch.utils._pytree.tree_map(  # noqa: SLF001  the one PyTorch uses itself
                lambda value: value.float() if value.dtype == torch.bfloat16 else value, outputs
            )

    shapes = tuple(
        {
            axis: torch.export.Dim.AUTO
            for axis, size in enumerate(value.shape)
            if not isinstance(size, int)
        }
        for value in inputs
    )
    examples, _ = exported.example_inputs
    return torch.export.export(Lowered(), tuple(examples), dynamic_shapes=(shapes,))


def generation(target: TargetSpec) -> str:
    """The processor generation that every machine of the target belongs to, in GCC's words."""
    if target.architecture == "arm64":
        return "armv8-a"
    if target.features >= _AVX512:
        return "x86-64-v4"
    return "x86-64-v3" if target.features >= {"avx2", "fma"} else "x86-64-v2"


@contextmanager
def _instructions(target: TargetSpec) -> Iterator[None]:
    """Inductor's vectors as the target has them; by itself it takes the most this machine has."""
    found: list[Any] = []
    if target.architecture == "arm64":
        found = [cpu_vec_isa.VecNEON()]
    elif target.features >= _AVX512:
        found = [_Avx512()]
    elif target.features >= {"avx2", "fma"}:
        found = [cpu_vec_isa.VecAVX2()]
    module: Any = cpu_vec_isa
    known = module.valid_vec_isa_list
    module.valid_vec_isa_list = lambda: found
    try:
        yield
    finally:
        module.valid_vec_isa_list = known


#: AVX-512 without the extensions that this machine may have beyond the target: asked whether it is
#: there, Inductor's own looks for them and turns them on.
_Avx512: Any = type(
    "_Avx512",
    (cpu_vec_isa.VecAVX512,),
    {"__bool__": lambda _: True, "__hash__": cpu_vec_isa.VecISA.__hash__},
)


@contextmanager
def _origins(found: dict[str, tuple[str, ...]]) -> Iterator[None]:
    """Put into ``found`` what each call computes, which Inductor tells its log alone."""
    module: Any = debug
    known = module.dump_inductor_provenance_info

    def overheard() -> Any:
        told = known()
        earlier = told.get("postToPre", {})
        for call, nodes in told.get("cppCodeToPost", {}).items():
            # A node that no earlier one is known of has kept its name.
            names = (name for node in nodes for name in earlier.get(node) or (node,))
            found[call] = tuple(dict.fromkeys(names))
        return told

    module.dump_inductor_provenance_info = overheard
    try:
        yield
    finally:
        module.dump_inductor_provenance_info = known


@contextmanager
def _without_chmod() -> Iterator[None]:
    """No changes of file modes, which a confined child may not make: Inductor and ``shutil`` try
    to, on files of their own in the workspace that are fine as they are."""
    known = os.chmod, os.fchmod

    def ignore(*_args: Any, **_named: Any) -> None:
        """Leave the mode alone."""

    os.chmod = os.fchmod = ignore
    try:
        yield
    finally:
        os.chmod, os.fchmod = known
