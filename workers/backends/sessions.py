"""Opens builds through the runtimes their users open them with."""

from hpcfair.errors import HpcfairError, MissingPackage
from hpcfair.runtimes import registry
from workers.engine.errors import BackendUnavailable, InvalidCandidate
from workers.engine.ports import Session
from workers.engine.types import BuildResult


def open_build(build: BuildResult) -> Session:
    """What :meth:`workers.engine.ports.Backend.load` promises.

    Raises:
        InvalidCandidate: there is no build, or its runtime cannot open it.
        BackendUnavailable: the runtime's package is missing.
    """
    if build.directory is None:
        raise InvalidCandidate(f"nothing was built: {build.detail}")
    try:
        return registry.open(
            build.runtime, build.directory / build.entry_point, build.runtime_options
        )
    except MissingPackage as error:
        raise BackendUnavailable(str(error)) from error
    except HpcfairError as error:
        raise InvalidCandidate(f"{error.detail} {error.hint}".strip()) from error
