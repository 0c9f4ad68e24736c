"""A model whose files are in the cache, before it is opened."""

from dataclasses import dataclass
from pathlib import Path

from hpcfair.formats import opener_of
from hpcfair.paths import safe_join
from hpcfair.resolution import Resolution
from hpcfair.runtimes.base import Options
from hpcfair.transport import Transport
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
    def files(self) -> list[Path]:
        """All files of the build."""
        folder = self.path.parents[self.resolution.entry_point.count("/")]
        return [safe_join(folder, file.path) for file in self.resolution.files]
