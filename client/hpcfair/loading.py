"""Loads a model: asks the hub for the best build, fetches its files, opens it."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from hpcfair import collective, filesystem, hints
from hpcfair.acceptance import EXACT, Acceptance
from hpcfair.cache import Cache
from hpcfair.download import fetch_tree
from hpcfair.errors import BadConfig, BadInput, NotSupported, RuntimeFailed, Untrusted
from hpcfair.fetchedmodel import DEFAULT_GUARD, FetchedModel, Guard, repaired_model
from hpcfair.fetching import companion_folder, fetch_files
from hpcfair.forms import network_paths, open_onnx, open_torch, required_onnx
from hpcfair.host import Host, common_host, require_runtime
from hpcfair.loaded import Loaded
from hpcfair.loadoptions import LoadForm, LoadOptions
from hpcfair.paths import is_commit, safe_join
from hpcfair.processors import target_of_device
from hpcfair.recordaccess import RecordAccess
from hpcfair.resolution import PlainModelWarning, Resolution, resolve
from hpcfair.revision import revision as revision_of
from hpcfair.runtimes import registry
from hpcfair.runtimes.base import Runtime
from hpcfair.scenarios import SINGLE_STREAM, Scenario, checked_scenario
from hpcfair.transport import Transport
from hpcfair.trust import check as trust


def load_as(http: Transport, cache: Cache, name: str, form: LoadForm, options: LoadOptions) -> Any:
    """Load a model in one of its forms; see :meth:`hpcfair.Client.load`."""
    comm = options.get("comm")
    host = Host.here() if comm is None else common_host(comm.allgather(Host.here()))
    if form in ("model", "session"):
        require_runtime(host)
    guard = Guard(options.get("verify", False), options.get("signed"))
    target = target_of_device(options.get("device"), options.get("target", "auto"), host.machine)
    choose = partial(
        fetch,
        http,
        cache,
        name,
        revision=options.get("revision"),
        target=None if form in ("onnx", "torch") else target,
        acceptance=Acceptance.of(options.get("tolerance"), options.get("min_accuracy")),
        scenario=checked_scenario(options.get("scenario", SINGLE_STREAM)),
        guard=guard,
        host=host,
    )
    model = choose() if comm is None else _fetch_together(comm, cache, choose)
    if comm is None or comm.Get_rank() == 0:
        hints.show_hint(http.config.url, model.resolution)
    if form == "torch":
        return _torch_module(http, cache, model, guard)
    try:
        return open_as(http, cache, model, form, options)
    except RuntimeFailed:
        repaired = None if comm else repaired_model(http, cache, model)
        if repaired is None:
            raise
    return open_as(http, cache, repaired, form, options)


def open_as(
    http: Transport, cache: Cache, model: FetchedModel, form: LoadForm, options: LoadOptions
) -> Any:
    """A fetched model in one of its forms; as a PyTorch module, converted from ONNX."""
    if options.get("device") == "cuda" and model.runtime not in registry.GPU_RUNTIMES:
        raise BadInput(
            f"device='cuda': there is no build for the GPU. {model.resolution.reason}",
            "Leave device out to load the best build for this machine.",
        )
    model = replace(model, threads=options.get("threads"))
    match form:
        case "path":
            return model.path
        case "session":
            return _native_session(model)
        case "onnx":
            return open_onnx(required_onnx(model.path))
        case "torch":
            return open_torch(model.path, None)
        case "model":
            return load(
                http,
                cache,
                model,
                isolated=options.get("isolated", False),
                place_caller=options.get("place_caller"),
                guard=Guard(options.get("verify", False), options.get("signed")),
            )


def fetch(  # noqa: PLR0913 - each is a decision of its own
    http: Transport,
    cache: Cache,
    name: str,
    *,
    revision: str | None = None,
    target: str | None = "auto",
    acceptance: Acceptance = EXACT,
    scenario: Scenario = SINGLE_STREAM,
    guard: Guard = DEFAULT_GUARD,
    host: Host | None = None,
) -> FetchedModel:
    """Choose, download and verify the files of the best build; opens nothing."""
    resolution = resolve(
        http,
        cache,
        name,
        revision=revision,
        target=target,
        acceptance=acceptance,
        scenario=scenario,
        renew=guard.verify,
        host=host,
    )
    if resolution.build is None and target is not None:
        warnings.warn(
            f"{name}: no build suits this machine, the plain model is used. {resolution.reason}",
            PlainModelWarning,
            stacklevel=5,
        )
    _check_revision(resolution, revision)
    return fetch_files(http, cache, resolution, guard)


def _fetch_together(
    comm: collective.Communicator, cache: Cache, choose: Callable[[], FetchedModel]
) -> FetchedModel:
    """The model that rank 0 fetches, in the cache of each rank."""
    model = collective.once(comm, choose)
    resolution = model.resolution
    folder = collective.share_tree(comm, cache, resolution.files, what=resolution.name)
    return replace(model, path=safe_join(folder, resolution.entry_point))


def load(
    http: Transport,
    cache: Cache,
    model: FetchedModel,
    *,
    isolated: bool = False,
    place_caller: bool | None = None,
    guard: Guard = DEFAULT_GUARD,
) -> Loaded:
    """Open a fetched model; see :meth:`hpcfair.Client.load`."""
    return Loaded(
        model.resolution,
        model.path,
        _opening_of(model, isolated=isolated),
        RecordAccess(http, cache),
        lambda: companion_folder(http, cache, model, guard),
        place_caller=place_caller,
        signed_by=model.signed_by,
        threads=model.threads,
    )


def _opening_of(model: FetchedModel, *, isolated: bool = False) -> Callable[[], Runtime]:
    """Opens a fetched model each time it is called."""
    filesystem.read_ahead(model.files, filesystem.magic_of(model.path))
    open_build = registry.open_isolated if isolated else registry.open

    def opened() -> Runtime:
        try:
            return open_build(model.runtime, model.path, model.options)
        except BadConfig as error:
            if model.threads is None:
                raise
            raise BadInput(f"threads={model.threads}: {error.detail}.", error.hint) from error

    return opened


def _native_session(model: FetchedModel) -> Any:
    """The object of the runtime's own library; raises NotSupported if the runtime has none."""
    runtime = _opening_of(model)()
    session = getattr(runtime, "session", None)
    if session is None:
        raise NotSupported(f"The runtime {model.runtime} has no session.", "Use as_='model'.")
    return session


def _torch_module(http: Transport, cache: Cache, network: FetchedModel, guard: Guard) -> Any:
    """The published network as a PyTorch module; see :mod:`hpcfair.torchmodule`."""
    published = network.resolution
    commit = revision_of(http, published.name, published.revision)
    files = {file.path: file for file in commit.files}
    _, path = network_paths(http, published.name, published.revision, files)
    if path is None or path not in files:
        return open_torch(network.path, None)
    required = guard.requires_signature(http)
    if required:
        trust.check_model(http, cache, published.name, published.revision, [files[path]])
    folder = fetch_tree(
        http, cache, [files[path]], what=published.name, verify=guard.verify or required
    )
    return open_torch(network.path, safe_join(folder, path))


def _check_revision(resolution: Resolution, revision: str | None) -> None:
    """Refuse another revision than the commit that was asked for."""
    if revision and is_commit(revision) and resolution.revision != revision:
        raise Untrusted(
            f"The hub offers revision {resolution.revision[:12]} for {revision[:12]}.",
            "Report this to the hub's operators.",
            code="revision_differs",
        )
