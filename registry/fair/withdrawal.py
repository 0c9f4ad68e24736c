"""The description of a withdrawn version: what it was, without what the hub no longer has.

Its files, builds, test tensors and measurements are deleted, and their addresses answer 410. They
stay described, by name, size and digest, and their addresses stay as names; nothing offers them for
download. Code that loads it, and the score of the record as it was served before, are left out.
"""

from collections.abc import Iterable
from dataclasses import replace

from registry.fair.activities import Benchmark, BuildDescription, Withdrawal
from registry.fair.description import Description
from registry.fair.parts import FileDescription


def withdrawn(description: Description, withdrawal: Withdrawal | None) -> Description:
    """``description`` as of a withdrawn version; applying it again changes nothing."""
    return replace(
        description,
        status="withdrawn",
        access="metadata only access",
        withdrawal=withdrawal,
        snippet=None,
        fair=None,
        files=_deleted(description.files),
        tests=_deleted(description.tests),
        builds=tuple(map(_build, description.builds)),
        scan=replace(description.scan, is_available=False) if description.scan else None,
        repetitions=tuple(map(_benchmark, description.repetitions)),
        evaluations=tuple(
            replace(one, url=None) if one.by == "hub" else one for one in description.evaluations
        ),
    )


def _deleted(files: Iterable[FileDescription]) -> tuple[FileDescription, ...]:
    return tuple(replace(file, is_available=False) for file in files)


def _build(build: BuildDescription) -> BuildDescription:
    return replace(
        build,
        files=_deleted(build.files),
        benchmark=_benchmark(build.benchmark),
        is_available=False,
    )


def _benchmark(benchmark: Benchmark) -> Benchmark:
    return replace(benchmark, document_url="")
