"""ONNX Runtime's graph optimisers as a menu of passes.

They run whenever a session opens, at the cost of every user; opening a session counts as compiling.
"""

from pathlib import Path
from time import perf_counter
from typing import Any

from hpcfair.runtimes.optimisers import ALL, NONE
from workers.engine.passes.menu import Menu
from workers.engine.types import Options, sha256_of


def menu_of(options: Options) -> Menu:
    """The optimisers to choose from, with all other ``options`` fixed. ONNX Runtime determines
    their order, whatever the order of the list."""
    return Menu(options=options, default=ALL, nothing=NONE)


def open_s(path: Path, options: Options) -> float:
    """Seconds that opening a session takes."""
    from hpcfair.runtimes.onnxruntime import open_session  # noqa: PLC0415  heavy

    started = perf_counter()
    open_session(path, options)
    return perf_counter() - started


def fingerprint(path: Path, options: Options, out: Path) -> str:
    """A digest that is equal for networks optimised to the same operators; ``out`` is a folder for
    temporary files."""
    import onnx  # noqa: PLC0415  heavy

    from hpcfair.runtimes.onnxruntime import open_session  # noqa: PLC0415

    optimised, weights = out / "optimised.onnx", out / "optimised.data"

    def save(settings: Any) -> None:
        settings.optimized_model_filepath = str(optimised)
        settings.add_session_config_entry(
            "session.optimized_model_external_initializers_file_name", weights.name
        )

    open_session(path, options, save)
    graph = onnx.load(optimised, load_external_data=False).graph
    nodes = [_node(node) for node in graph.node]
    optimised.unlink()
    weights.unlink(missing_ok=True)
    return sha256_of(nodes)


def _node(node: Any) -> list[Any]:
    """A node without its name, which contains a counter."""
    attributes = sorted(a.SerializeToString().hex() for a in node.attribute)
    return [node.domain, node.op_type, list(node.input), list(node.output), attributes]
