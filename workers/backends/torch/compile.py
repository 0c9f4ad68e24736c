"""Compiles exported programs to AOTInductor packages. Runs in the child process of a build.

``torch.export.load`` unpickles without restrictions if a file requires it. Inspection rejects such
files; in addition the environment forbids it here, and the child can write only to its workspace.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch._inductor import aoti_compile_and_package, debug
from torch.export.passes import move_to_device_pass

from hpcfair.runtimes.base import TensorInfo
from hpcfair.runtimes.tensors import MappedTensor, write_tensors
from hpcfair.runtimes.torch_cuda import use_tf32
from workers.backends.torch.instructions import generation, inductor_instructions
from workers.backends.torch.lowest import raise_lowest
from workers.backends.torch.package import forget_folders
from workers.engine.binding import Misfit, bind
from workers.engine.errors import InvalidCandidate
from workers.engine.types import Network, Options, TargetSpec, TensorSpec

#: Metadata with paths and source lines of the author's files; removed, for privacy.
_TRACES = ("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn", "custom")
_EFFORTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "freezing": {"freezing": True},
    "max-autotune": {"freezing": True, "max_autotune": True},
}
_GPU_EFFORTS: dict[str, dict[str, Any]] = {"plain": {}, "max-autotune": {"max_autotune": True}}
_REDUCED = {"bfloat16": torch.bfloat16, "float16": torch.float16}
_INSTRUMENTED: dict[str, Any] = {
    "cpp.enable_kernel_profile": True,
    "trace.provenance_tracking_level": 1,
}


def compile_program(
    program: Path, network: Network, target: TargetSpec, options: Options, package: Path
) -> dict[str, Any]:
    """Write ``package`` and its ``tensors.json``; returns provenance. Raises InvalidCandidate if
    PyTorch cannot load or compile the program, or it is not this network."""
    if "tf32" in options:
        use_tf32(is_on=bool(options["tf32"]))
    with refusing():
        exported = prepared(program, network, target, options, package.parent)
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
    """Turn exceptions of PyTorch, which share no base class, into InvalidCandidate."""
    try:
        yield
    except (InvalidCandidate, MemoryError):
        raise
    except Exception as error:
        reason = str(error).strip().partition("\n\n")[0]
        raise InvalidCandidate(f"Inductor: {type(error).__name__}: {reason}") from error


def prepared(
    program: Path, network: Network, target: TargetSpec, options: Options, folder: Path
) -> Any:
    """Load the program on the target's device in the precision of the options; writes
    ``tensors.json`` to ``folder``."""
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
    device = "cuda" if _is_gpu(target) else "cpu"
    with _without_chmod():
        exported = load_program(program, network, folder)
        if device != "cpu":
            exported = move_to_device_pass(exported, device)
        if options["precision"] == "float32":
            return exported
        return _in_reduced_precision(exported, device, _REDUCED[str(options["precision"])])


def make_package(
    exported: Any,
    target: TargetSpec,
    options: Options,
    package: Path,
    *,
    instrumented: bool = False,
) -> dict[str, tuple[str, ...]]:
    """Compile a program into ``package``.

    An ``instrumented`` package reports its calls to PyTorch's profiler, at about a microsecond per
    call. Returns, if instrumented, nodes of the program by call ``kernel:number``, in the order of
    calls.
    """
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path(tempfile.gettempdir(), "inductor"))
    settings = _settings(target, options) | (_INSTRUMENTED if instrumented else {})
    origins: dict[str, tuple[str, ...]] = {}
    with _without_chmod(), inductor_instructions(target), _origins(origins):
        aoti_compile_and_package(exported, package_path=str(package), inductor_configs=settings)
    forget_folders(package)
    return origins


def _settings(target: TargetSpec, options: Options) -> dict[str, Any]:
    common = {
        "compile_threads": 1,
        "aot_inductor.enable_line_tables": False,
        "aot_inductor.enable_frame_pointer": False,
        # Pays off for several programs in a folder only.
        "aot_inductor.precompile_headers": False,
    }
    effort = str(options["effort"])
    if _is_gpu(target):
        return common | _GPU_EFFORTS[effort]
    return {
        **common,
        **_EFFORTS[effort],
        "cpp.march": generation(target),
        # Otherwise Inductor compiles and runs test programs; the target determines the result.
        "cpp.vec_isa_ok": True,
        # The thread count is that of the process that opens the package.
        "cpp.dynamic_threads": True,
    }


def _is_gpu(target: TargetSpec) -> bool:
    return "cuda" in target.features


def load_program(program: Path, network: Network, folder: Path) -> Any:
    """Load the program; writes ``tensors.json`` to ``folder``. Raises InvalidCandidate if its
    signature is not the network's."""
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
        MappedTensor(TensorInfo(spec.name, spec.dtype, spec.shape), binding.index, binding.order)
        for spec, binding in zip(graph, bindings, strict=True)
    )


def _in_reduced_precision(exported: Any, device: str, dtype: torch.dtype) -> Any:
    """The program under autocast: products in ``dtype``, inputs and outputs unchanged."""
    drop_assertions(exported)
    raise_lowest(exported, dtype)
    inner = exported.module()
    names = set(exported.graph_signature.user_inputs)
    inputs = [node.meta["val"] for node in exported.graph.nodes if node.name in names]

    class Autocast(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, *args: Any) -> Any:
            with torch.autocast(device, dtype):
                outputs = self.inner(*args)
            return torch.utils._pytree.tree_map(  # noqa: SLF001  as PyTorch itself
                lambda value: value.float() if value.dtype == dtype else value, outputs
            )

    shapes = tuple(
        {
            axis: torch.export.Dim.AUTO
            for axis, size in enumerate(value.shape)
            if not isinstance(size, int)
        }
        for value in inputs
    )
    examples = [example.to(device) for example in exported.example_inputs[0]]
    return torch.export.export(Autocast(), tuple(examples), dynamic_shapes=(shapes,))


def drop_assertions(exported: Any) -> None:
    """Drop the assertions that ``torch.export`` adds to casts, in place: the type of their operand
    is another one under autocast."""
    assertion = torch.ops.aten._assert_tensor_metadata.default  # noqa: SLF001  its only name
    for module in exported.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            for node in module.graph.find_nodes(op="call_function", target=assertion):
                module.graph.erase_node(node)
            module.recompile()


@contextmanager
def _origins(origins: dict[str, tuple[str, ...]]) -> Iterator[None]:
    """Add the nodes that each call computes to ``origins``; Inductor only logs them."""
    module: Any = debug
    original = module.dump_inductor_provenance_info

    def dump() -> Any:
        provenance = original()
        earlier = provenance.get("postToPre", {})
        for call, nodes in provenance.get("cppCodeToPost", {}).items():
            # Nodes without an earlier one have not been renamed.
            names = (name for node in nodes for name in earlier.get(node) or (node,))
            origins[call] = tuple(dict.fromkeys(names))
        return provenance

    module.dump_inductor_provenance_info = dump
    try:
        yield
    finally:
        module.dump_inductor_provenance_info = original


@contextmanager
def _without_chmod() -> Iterator[None]:
    """Ignore changes of file modes, which a confined child may not make: Inductor and ``shutil``
    make them in the workspace, without need."""
    original = os.chmod, os.fchmod

    def ignore(*_args: Any, **_named: Any) -> None:
        """Leave the mode alone."""

    os.chmod = os.fchmod = ignore
    try:
        yield
    finally:
        os.chmod, os.fchmod = original
