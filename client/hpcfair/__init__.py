"""Search, load, save and reuse models, each in the fastest trustworthy build for this machine.

::

    import hpcfair

    m = hpcfair.load("lab/galaxy-cnn")
    y = m(x)
    print(m.explain())

Names are imported on first use, so that ``import hpcfair`` is fast. No module of this package has
the name of a function here, because importing the module would replace the function.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hpcfair.client import Client
    from hpcfair.composition import Composition
    from hpcfair.config import Config
    from hpcfair.default import (
        compare,
        compose,
        import_model,
        info,
        jobs,
        load,
        login,
        prefetch,
        pull,
        reproduce,
        reuse,
        run_on,
        save,
        search,
        targets,
        tune,
        whoami,
    )
    from hpcfair.errors import HpcfairError, HubError
    from hpcfair.fork import Reused
    from hpcfair.generation import GenerationOptions
    from hpcfair.job import Job, Jobs, WaitingWarning
    from hpcfair.loaded import Loaded
    from hpcfair.loadoptions import LoadOptions
    from hpcfair.modelimport import ModelImport
    from hpcfair.prefetching import Prefetch
    from hpcfair.record import Record
    from hpcfair.reproduction import Reproduction
    from hpcfair.resolution import PlainModelWarning, StaleAnswerWarning
    from hpcfair.runon import RemoteRun
    from hpcfair.searchresults import Hits
    from hpcfair.signature import Signature
    from hpcfair.types import Build, MLModel, Revision

__all__ = [
    "Build", "Client", "Composition", "Config", "GenerationOptions", "Hits", "HpcfairError",
    "HubError", "Job", "Jobs", "LoadOptions", "Loaded", "MLModel", "ModelImport",
    "PlainModelWarning", "Prefetch", "Record", "RemoteRun", "Reproduction", "Reused", "Revision",
    "Signature", "StaleAnswerWarning", "WaitingWarning", "compare", "compose", "import_model",
    "info", "jobs", "load", "login", "prefetch", "pull", "reproduce", "reuse", "run_on", "save",
    "search", "targets", "tune", "whoami",
]  # fmt: skip

_HOME = {
    "client": ("Client",),
    "composition": ("Composition",),
    "config": ("Config",),
    "default": tuple(name for name in __all__ if name.islower()),
    "errors": ("HpcfairError", "HubError"),
    "fork": ("Reused",),
    "generation": ("GenerationOptions",),
    "job": ("Job", "Jobs", "WaitingWarning"),
    "loaded": ("Loaded",),
    "loadoptions": ("LoadOptions",),
    "modelimport": ("ModelImport",),
    "prefetching": ("Prefetch",),
    "record": ("Record",),
    "reproduction": ("Reproduction",),
    "resolution": ("PlainModelWarning", "StaleAnswerWarning"),
    "runon": ("RemoteRun",),
    "signature": ("Signature",),
    "searchresults": ("Hits",),
    "types": ("Build", "MLModel", "Revision"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'hpcfair' has no attribute {name!r}")
    value = getattr(import_module(f"hpcfair.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
