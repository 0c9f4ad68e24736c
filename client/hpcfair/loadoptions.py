"""Arguments of :meth:`hpcfair.Client.load`."""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict, get_args

from hpcfair.collective import Communicator
from hpcfair.errors import BadInput
from hpcfair.precisions import Tolerance
from hpcfair.scenarios import Scenario

LoadForm = Literal["model", "session", "onnx", "torch", "path"]


class LoadOptions(TypedDict, total=False):
    """Arguments of :meth:`hpcfair.Client.load` beside name and form, all optional.

    Attributes:
        revision: Branch, tag or commit id; default: the default branch. For a commit id whose
            build is in the cache, the hub is not asked.
        target: ``auto`` (the default), another target of this machine, or ``None`` for the
            published model.
        tolerance: Accepted deviation from the float32 reference: ``exact`` (the default), ``fp16``,
            ``bf16`` or ``int8``, each of which implies the stricter ones, or a number, the largest
            relative L2 error: with 0.01, the fastest build of any class whose measured error is at
            most 1 %.
        min_accuracy: Least accuracy on labelled samples, 0 to 1; alone, it admits any class.
        scenario: ``single-stream`` (the default) for the lowest latency, or by :meth:`Loaded.map`
            ``offline`` for the most samples per second, ``multi-stream`` for queries of eight
            samples; the first, if nothing was measured in the others.
        verify: Verify the digests of all files, even of unchanged ones, and ask the hub in any
            case.
        place_caller: Whether the calling thread is kept off the processors of the runtime's pinned
            workers during runs (Linux, ONNX Runtime, 0.5 ms or more; one thread at a time).
            Default: unless ``taskset`` or the like restricted it; ``True``: also then.
        signed: Refuse what the hub did not sign; default: ``HPCFAIR_SIGNED``.
        isolated: Run in a child process without network and without your files (Linux).
        comm: Communicator of a parallel job, such as ``mpi4py.MPI.COMM_WORLD``: all its ranks load
            at once, one asks the hub and reads, and a build is chosen that runs on all. See
            :class:`hpcfair.collective.Communicator`.
        threads: Number of threads in place of those that the build was measured with, whose figures
            do not hold then. PyTorch and TVM have one number per process, that of the model loaded
            last. Refused by runtimes without such an option.
        device: ``cpu`` or ``cuda``: only builds for the processor or for the GPU. Default: the best
            of both. Excludes ``target``.
    """

    revision: str | None
    target: str | None
    tolerance: Tolerance | float | None
    min_accuracy: float | None
    scenario: Scenario
    verify: bool
    place_caller: bool | None
    signed: bool | None
    isolated: bool
    comm: Communicator | None
    threads: int | None
    device: Literal["cpu", "cuda"] | None


def check_options(form: str, options: Mapping[str, Any]) -> None:
    """Refuse what ``load`` does not have.

    Raises:
        TypeError: an argument is unknown.
        BadInput: there is no such form, or it has no such option.
    """
    for unknown in options.keys() - LoadOptions.__annotations__.keys():
        names = ", ".join(LoadOptions.__annotations__)
        raise TypeError(f"load() has no argument {unknown!r}; it has as_, {names}")
    if form not in get_args(LoadForm):
        raise BadInput(f"There is no form {form!r}.", f"Choose of {', '.join(get_args(LoadForm))}.")
    if options.get("comm") is not None and form == "torch":
        raise BadInput("PyTorch modules are not loaded with comm.", "Use as_='onnx' or 'path'.")
    if options.get("isolated") and form != "model":
        raise BadInput("isolated=True runs a model elsewhere, so only as_='model' is possible.")
    threads = options.get("threads")
    if threads is None:
        return
    if type(threads) is not int or threads < 1:
        raise BadInput(f"threads is {threads!r}, not a whole number from 1 on.")
    if form not in ("model", "session"):
        raise BadInput(f"as_={form!r} opens no runtime that could have threads={threads}.")
