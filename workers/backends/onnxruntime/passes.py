"""ONNX Runtime's graph optimisers as a menu of passes.

They work when a session opens, so what they cost is paid by everybody who loads the build: opening
a session counts as compiling here.
"""

from pathlib import Path
from time import perf_counter
from typing import Any

from hpcfair.runtimes.optimisers import ALL, NONE
from workers.engine.passes.menu import Menu
from workers.engine.types import Options, sha256_of


def menu_of(options: Options) -> Menu:
    """The optimisers to choose from, beside otherwise fixed ``options``.

    They run in an order of ONNX Runtime's own, whatever the list says.
    """
    return Menu(options=options, default=ALL, nothing=NONE)


def open_s(path: Path, options: Options) -> float:
    """Seconds that opening a session takes."""
    # Heavy, and only needed in the child that builds.
    from hpcfair.runtimes.onnxruntime import open_session  # noqa: PLC0415

    started = perf_counter()
    open_session(path, options)
    return perf_counter() - started


def fingerprint(path: Path, options: Options, out: Path) -> str:
    """Equal for networks that are optimised into the same operators.

    Args:
        out: Folder to write to; nothing stays there.
    """
    import onnx  # noqa: PLC0415

    from hpcfair.runtimes.onnxruntime import open_session  # noqa: PLC0415

    optimised, weights = out / "optimised.onnx", out / "optimised.data"

    def keep(settings: Any) -> None:
        settings.optimized_model_filepath = str(optimised)
        settings.add_session_config_entry(
            "session.optimized_model_external_initializers_file_name", weights.name
        )

    open_session(path, options, keep)
    graph = onnx.load(optimised, load_external_data=False).graph
    nodes = [_node(node) for node in graph.node]
    optimised.unlink()
    weights.unlink(missing_ok=True)
    return sha256_of(nodes)


def _node(node: Any) -> list[Any]:
    """A node without its name, which counts upwards from run to run."""
    attributes = sorted(a.SerializeToString().hex() for a in node.attribute)
    return [node.domain, node.op_type, list(node.input), list(node.output), attributes]
