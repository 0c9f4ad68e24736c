"""``make bench NAME=conversions``: folders of ``transformers`` that the hub converts to ONNX.

The architectures of :mod:`benchmarks.exports`, with sizes and weights drawn by a seed, and those of
:mod:`benchmarks.conversion_kinds`, with small sizes and seeded weights. Each model is saved as
``save_pretrained`` does and converted in a confined child process, as an inspection does; several
are converted by one process, which imports PyTorch once.
``details`` has the result of each: tensors, dynamic sizes and the deviation from PyTorch, or the
reason of the refusal. Seconds depend on what else the machine does.

An interrupted run continues; ``--fresh`` starts again, which a change of the converter needs.
"""

import argparse
import json
import random
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import transformers as hf

from benchmarks.conversion_kinds import KINDS
from benchmarks.conversion_models import small_model
from benchmarks.exports.catalogue import FAMILIES
from benchmarks.exports.torch_model import settle
from benchmarks.report import counted, environment, report, say
from hpcfair.isolation.limits import Limits
from workers.engine.child import Child
from workers.engine.errors import CandidateFailed

_LIMITS = Limits(wall_s=600.0)
#: Conversions of one child process: its memory grows with each.
_MOST_CALLS = 20
_GAIN = 1.5
_ANSWERS = {
    "vocab_size": 1000, "d_model": 96, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 192,
    "decoder_ffn_dim": 192, "decoder_start_token_id": 2, "eos_token_id": 2, "pad_token_id": 1,
}  # fmt: skip


def t5(_: random.Random) -> Any:
    config = hf.T5Config(
        vocab_size=1000, d_model=96, d_kv=24, d_ff=192, num_layers=2, num_heads=4,
        decoder_start_token_id=0,
    )  # fmt: skip
    return hf.T5ForConditionalGeneration(config)


def bart(_: random.Random) -> Any:
    return hf.BartForConditionalGeneration(hf.BartConfig(**_ANSWERS, max_position_embeddings=160))


def whisper(_: random.Random) -> Any:
    config = hf.WhisperConfig(
        **_ANSWERS, num_mel_bins=80, max_source_positions=100, max_target_positions=64
    )
    return hf.WhisperForConditionalGeneration(config)


#: Models with an encoder and a decoder, which :mod:`benchmarks.exports` has by half.
_WHOLE: dict[str, Callable[[random.Random], Any]] = {"t5": t5, "bart": bart, "whisper": whisper}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="one architecture of each kind")
    parser.add_argument("--fresh", action="store_true", help="forget results of earlier runs")
    parser.add_argument("--cache", type=Path, default=Path(".bench"), help="results")
    parser.add_argument("--budget-s", type=float, help="stop after; the next run continues")
    parser.add_argument("names", nargs="*", help="architectures; default: all")
    options = parser.parse_args()
    done = options.cache / f"conversions-{options.seed}.jsonl"
    if options.fresh:
        done.unlink(missing_ok=True)
    results = _stored(done)
    selected: dict[str, dict[str, Any]] = {}
    begin = time.monotonic()
    with Converter() as converter:
        for kind, name, build in _builders(quick=options.quick):
            if options.names and name not in options.names:
                continue
            if name not in results:
                if options.budget_s and time.monotonic() - begin > options.budget_s:
                    continue
                results[name] = {"kind": kind, **_result(converter, name, build, options.seed)}
                done.parent.mkdir(parents=True, exist_ok=True)
                with done.open("a") as stream:
                    stream.write(json.dumps({"name": name, **results[name]}) + "\n")
            selected[name] = results[name]
            say(f"{name}: {results[name]}")
    _report(selected)


def _stored(path: Path) -> dict[str, dict[str, Any]]:
    """Results of an interrupted run by name."""
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {row.pop("name"): row for row in rows}


def _report(results: dict[str, dict[str, Any]]) -> None:
    converted = [each for each in results.values() if "deviation" in each]
    for kind in dict.fromkeys(each["kind"] for each in results.values()):
        of_kind = [each for each in results.values() if each["kind"] == kind]
        deviations = [each["deviation"] for each in of_kind if "deviation" in each]
        largest = f"largest deviation {max(deviations):.1e}" if deviations else ""
        say(f"{kind:<28} {len(deviations):>3} of {len(of_kind):>3} {largest}")
    figures = {
        "architectures": counted(len(results), "count"),
        "converted": counted(len(converted), "count"),
        "largest_deviation": counted(max((each["deviation"] for each in converted), default=0), ""),
    }
    report(
        "conversions",
        figures,
        baseline="PyTorch",
        environment=environment("torch", "transformers", "onnx", "onnxscript", "onnxruntime"),
        details=results,
    )


def _builders(*, quick: bool) -> Iterator[tuple[str, str, Callable[[random.Random], Any]]]:
    """Kind, name and function of each architecture."""
    most = 1 if quick else None
    for kind, architectures in KINDS.items():
        for model_type, name in architectures[:most]:
            yield kind, name, partial(_small, model_type, name)
    for family, names in FAMILIES.items():
        if not family.startswith("transformers"):
            continue
        module = import_module(f"benchmarks.exports.{family}")
        for name in names[:most]:
            yield family, name, partial(_exported, getattr(module, name))
    for name, build in list(_WHOLE.items())[:most]:
        yield "encoders with decoders", name, build


def _small(model_type: str, name: str, chance: random.Random) -> Any:
    return small_model(model_type, name, chance.randrange(2**31))


def _exported(build: Callable[[random.Random], Any], chance: random.Random) -> Any:
    """The model inside of the wrapper that :mod:`benchmarks.exports` exports."""
    return build(chance).module.model


class Converter:
    """Converts models in child processes, each of which takes several. A context manager."""

    def __enter__(self) -> "Converter":
        self._child: Child | None = None
        self._calls = 0
        self._folder = TemporaryDirectory()
        self._source, self._scratch = (Path(self._folder.name, one) for one in ("in", "scratch"))
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        self._folder.cleanup()

    def convert(self, model: Any) -> dict[str, Any]:
        """What the conversion of a model reports. Raises CandidateFailed."""
        if self._calls == _MOST_CALLS:
            self._close()
        for folder in (self._source, self._scratch / "out"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        model.save_pretrained(self._source)
        if self._child is None:
            self._child = Child(_LIMITS, self._scratch, [self._source.parent])
        self._calls += 1
        try:
            report: dict[str, Any] = self._child.call(
                "workers.conversion.child:convert",
                folder=str(self._source),
                out=str(self._scratch / "out"),
            )
        except CandidateFailed:
            self._close()
            raise
        return report

    def _close(self) -> None:
        if self._child is not None:
            self._child.close()
        self._child, self._calls = None, 0


def _result(
    converter: Converter, name: str, build: Callable[[random.Random], Any], seed: int
) -> dict[str, Any]:
    """What the conversion reports, with its seconds; or ``{"code", "detail"}``."""
    torch.manual_seed(seed)
    model = build(random.Random(f"{name} {seed}"))  # noqa: S311  not for secrets
    if name in _WHOLE:
        settle(model, _GAIN)
    begin = time.monotonic()
    try:
        report = converter.convert(model)
    except CandidateFailed as failure:
        return {"code": failure.cause, "detail": str(failure)}
    return report.get("error") or {**report, "seconds": round(time.monotonic() - begin, 1)}


if __name__ == "__main__":
    main()
