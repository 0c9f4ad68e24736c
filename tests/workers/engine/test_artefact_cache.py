"""Candidates share what shaped the files of a build, and nothing else."""

from pathlib import Path

from workers.engine.artefact_cache import ArtefactCache
from workers.engine.types import BuildResult, Options

SOURCE = Path("network/model.onnx")


def made(folder: Path, options: Options, runtime: Options) -> tuple[ArtefactCache, BuildResult]:
    """A shelf with one build of a backend whose threads and spinning are of opening."""
    cache = ArtefactCache({"b": frozenset({"threads", "spinning"})})
    (folder / "first").mkdir()
    (folder / "first" / "model").write_text("weights")
    build = BuildResult("measured", folder / "first", "model", "r", runtime, compile_s=9.0)
    cache.put("b", options, SOURCE, build)
    return cache, build


def test_another_way_of_opening_takes_a_copy(tmp_path: Path) -> None:
    options: Options = {"precision": "int8", "threads": "all", "spinning": True}
    runtime: Options = {"level": "all", "threads": "all", "spinning": True}
    cache, build = made(tmp_path, options, runtime)
    shared = cache.copy("b", {"precision": "int8", "threads": "one"}, SOURCE, tmp_path / "second")
    assert shared is not None
    assert (tmp_path / "second" / "model").read_text() == "weights"
    assert shared.directory == tmp_path / "second"
    # An option that is absent now leaves the runtime's; what the backend set by itself stays.
    assert shared.runtime_options == {"level": "all", "threads": "one"}
    assert shared.compile_s == build.compile_s


def test_what_a_backend_sets_by_itself_stays_even_if_it_is_called_as_an_option(
    tmp_path: Path,
) -> None:
    cache, _ = made(tmp_path, {"precision": "int8"}, {"threads": "all"})
    shared = cache.copy("b", {"precision": "int8"}, SOURCE, tmp_path / "second")
    assert shared is not None
    assert shared.runtime_options == {"threads": "all"}


def test_other_files_are_made_anew(tmp_path: Path) -> None:
    cache, build = made(tmp_path, {"precision": "int8", "threads": "all"}, {"threads": "all"})
    other: Options = {"precision": "float32", "threads": "all"}
    assert cache.copy("b", other, SOURCE, tmp_path / "second") is None
    assert build.directory is not None
    build.directory.rename(tmp_path / "gone")
    gone: Options = {"precision": "int8", "threads": "one"}
    assert cache.copy("b", gone, SOURCE, tmp_path / "second") is None
    assert not (tmp_path / "second").exists()


def test_a_copy_serves_when_what_it_was_copied_from_is_gone(tmp_path: Path) -> None:
    cache, build = made(tmp_path, {"precision": "int8", "threads": "all"}, {"threads": "all"})
    assert cache.copy("b", {"precision": "int8", "threads": "one"}, SOURCE, tmp_path / "second")
    assert build.directory is not None
    build.directory.rename(tmp_path / "gone")
    third = cache.copy("b", {"precision": "int8", "threads": "half"}, SOURCE, tmp_path / "third")
    assert third is not None
    assert third.runtime_options == {"threads": "half"}
    assert (tmp_path / "third" / "model").read_text() == "weights"


def test_builds_from_the_normal_form_are_not_builds_from_the_published_file(
    tmp_path: Path,
) -> None:
    cache, _ = made(tmp_path, {"precision": "int8"}, {})
    normal = Path("normal/model.onnx")
    assert cache.copy("b", {"precision": "int8"}, normal, tmp_path / "second") is None
