"""A model whose files are in the cache, before it is opened."""

from dataclasses import dataclass, replace
from pathlib import Path

from hpcfair.cache import Cache
from hpcfair.download import fetch_tree
from hpcfair.formats import opener_of
from hpcfair.localfiles import local_files
from hpcfair.paths import safe_join
from hpcfair.resolution import Resolution
from hpcfair.runtimes.base import Options
from hpcfair.transport import Transport
from hpcfair.tree import find_tree
from hpcfair.trust import check as trust


@dataclass(frozen=True, slots=True)
class Guard:
    """Protection against what is loaded: see the arguments of :meth:`hpcfair.Client.load`."""

    verify: bool = False
    signed: bool | None = None

    def requires_signature(self, http: Transport) -> bool:
        """Whether unsigned files are refused."""
        return http.config.signed if self.signed is None else self.signed


#: What is loaded without further arguments.
DEFAULT_GUARD = Guard()


@dataclass(frozen=True, slots=True)
class FetchedModel:
    """The verified files of a build or of a published network, not opened.

    Attributes:
        path: The file that the runtime opens.
        signed_by: Signature of the hub; ``None`` if there is none.
        threads: Number of threads in place of the measured one; ``None`` for that.
    """

    resolution: Resolution
    path: Path
    signed_by: trust.ValidSignature | None
    threads: int | None = None

    @property
    def runtime(self) -> str:
        """Name of the runtime that opens it."""
        build = self.resolution.build
        return build.runtime if build else opener_of(self.path).runtime

    @property
    def options(self) -> Options:
        """The runtime options that the hub measured, or the defaults; with ``threads``."""
        build = self.resolution.build
        options = build.runtime_options if build else opener_of(self.path).default
        if self.threads is None:
            return options
        others = {name: value for name, value in options.items() if name != "default"}
        return {**others, "threads": self.threads}

    @property
    def folder(self) -> Path:
        """The folder with the files of the build."""
        return self.path.parents[self.resolution.entry_point.count("/")]

    @property
    def files(self) -> list[Path]:
        """All files of the build."""
        return [safe_join(self.folder, file.path) for file in self.resolution.files]


def repaired_model(http: Transport, cache: Cache, model: FetchedModel) -> FetchedModel | None:
    """A model that cannot be opened, with its files replaced; ``None`` if they are intact.

    A load does not hash the files again, so that only this finds what a failing disk did to them.

    Raises as :func:`hpcfair.download.fetch_tree`.
    """
    published = model.resolution
    with local_files(cache.root, "HPCFAIR_CACHE"):
        intact = find_tree(cache, published.files, thorough=True)
    if intact == model.folder:
        return None
    folder = fetch_tree(http, cache, published.files, what=published.name, verify=True)
    return replace(model, path=safe_join(folder, published.entry_point))
