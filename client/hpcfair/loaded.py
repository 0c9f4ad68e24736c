"""A loaded model: runs on arrays and explains the choice of its build."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpcfair import machine
from hpcfair.batching import Batcher
from hpcfair.errors import BadInput, RuntimeFailed
from hpcfair.explain import explain
from hpcfair.generative import Generative
from hpcfair.record import Record
from hpcfair.recordaccess import RecordAccess
from hpcfair.resolution import Resolution
from hpcfair.rowsplit import RowSplitter, row_count
from hpcfair.runtimes.base import Array, Runtime
from hpcfair.scenarios import Execution
from hpcfair.seeded import seeded_inputs
from hpcfair.serialrunner import SerialRunner
from hpcfair.signature import Signature
from hpcfair.trust import check as trust
from hpcfair.types import Build
from hpcfair.typingnames import Self

if TYPE_CHECKING:
    from hpcfair.bench.reproduction import RecordReproduction


class Loaded(Generative):
    """A loaded model. Thread-safe; concurrent calls are serialised.

    Use it as a context manager or call :meth:`close` to release its memory early.

    Attributes:
        name, revision: The model and its revision.
        signature: Inputs and outputs.
        build: The loaded build; ``None`` for the published model.
        execution: Batch and streams that :meth:`map` uses; ``None`` unless the build was measured
            in the scenario that the model was loaded for, and that has any.
        path: The file that the runtime opened.
        signed_by: Signature of the hub; ``None`` if there is none.
        threads: Number of threads that was stated in place of the measured one.
    """

    def __init__(
        self,
        resolution: Resolution,
        path: Path,
        open_build: Callable[[], Runtime],
        records: RecordAccess,
        fetch_companions: Callable[[], Path | None],
        *,
        place_caller: bool | None = None,
        signed_by: trust.ValidSignature | None = None,
        threads: int | None = None,
    ) -> None:
        self.name = resolution.name
        self.revision = resolution.revision
        self.signature: Signature = resolution.signature
        self.build: Build | None = resolution.build
        self.path = path
        self.signed_by = signed_by
        self.threads = threads
        self._resolution = resolution
        self.execution: Execution | None = self.build.execution if self.build else None
        self._records = records
        self._fetch_companions = fetch_companions
        self._runner = SerialRunner(open_build, place_caller=place_caller)
        self._splitter = RowSplitter.of(self.signature, self._runner)

    # A union type would force every typed caller to narrow it, although the signature decides.
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model once, as :meth:`run`.

        Returns:
            The array itself if the signature has one output, else the dictionary of :meth:`run`.
        """
        return _value(self.run(*args, **kwargs))

    def run(self, *args: Any, **kwargs: Any) -> dict[str, Array]:
        """Run the model once and return all its outputs by name, also a single one.

        Inputs are passed in the order of the signature, by name, or as one mapping by name. Lists
        and numbers are converted; arrays of a narrower type are widened without loss.

        A model of a fixed batch size takes any number of rows if its rows are independent, which is
        tested on the first rows that differ: they run in batches of that size, the last one filled
        up.

        Returns:
            Arrays by output name. Names, order and element types are those of the signature,
            whichever build was loaded.

        Raises:
            BadInput: a name, type or shape does not match the signature, or rows of a fixed batch
                size are not independent.
            RuntimeFailed: the runtime failed on these inputs.
        """
        splitter = self._splitter
        inputs = splitter.bind(args, kwargs) if splitter else None
        if inputs is None:
            inputs = self.signature.bind(args, kwargs)
        elif splitter and row_count(inputs) != splitter.rows:
            return splitter.run(inputs)
        return self.signature.arrange(self._runner.run(inputs))

    async def run_async(self, *args: Any, **kwargs: Any) -> dict[str, Array]:
        """As :meth:`run`, without blocking the event loop: ``await m.run_async(x)``.

        Calls are made one after another by a thread of the model. A call that is cancelled while it
        waits is not made.
        """
        return await self._runner.call(lambda: self.run(*args, **kwargs))

    def warmup(self, *args: Any, runs: int = 3, **kwargs: Any) -> None:
        """Run the model a few times, so that the first call of users is not the slow one.

        Args:
            args, kwargs: Inputs as of :meth:`run`, of the shapes that will be used: some runtimes
                prepare each shape when it first occurs. Default: one row of random numbers, with 32
                in place of other open sizes.

        Raises:
            BadInput: the inputs do not fit, or the default cannot be run; then pass some.
        """
        if args or kwargs:
            inputs = self.signature.named(args, kwargs)
        else:
            inputs = seeded_inputs(self.signature.inputs, 1)
        try:
            for _ in range(runs):
                self.run(inputs)
        except (BadInput, RuntimeFailed) as error:
            if args or kwargs:
                raise
            raise BadInput(
                f"The model does not run on random inputs: {error.detail}.",
                "Pass inputs of your own: m.warmup(x).",
            ) from error

    def map(self, items: Iterable[Any], *, batch: int | None = None) -> Iterator[Any]:
        """Run the model on a stream of samples; yields the outputs of each item, in order.

        Samples run in batches, over several streams at once, as the build was measured in the
        scenario it was loaded for. Few items are read ahead, so the stream may be endless. The last
        batch may be smaller. A model of one row takes any number: in batches if its build can.

        Args:
            items: Each a sample, which lacks the first dimension of the inputs, or a batch of any
                number of samples. Either is an array of the only input, a mapping by name, or a
                tuple in the order of the signature. One array is a stream of its rows.
            batch: Samples of one run, in place of those of the build, which uses one stream then.
                Only for models that compute each row of a batch on its own. Without a recorded or
                given number, each item runs as it is.

        Yields:
            As :meth:`__call__` returns; the outputs of a sample lack the first dimension.

        Raises:
            BadInput: an item is no input of the model, or differs in shape from others of its
                batch; the message has its number, from 0.
            RuntimeFailed: the runtime failed, or the outputs are not one row for each sample.
        """
        if batch is not None and (type(batch) is not int or batch < 1):
            raise BadInput(f"batch is {batch!r}, not a whole number from 1 on.")
        size, streams = batch, 1
        if size is None and self.execution is not None:
            size = self.execution.batch
            streams = self.execution.stream_count(machine.describe().cores)
        signature, splitter = self.signature, self._splitter
        if splitter is not None and splitter.rows == 1 and size is not None:
            signature, size = splitter.open_signature, splitter.batch(size)
        batcher = Batcher(signature, size)
        results = self._runner.map(batcher.batches(items), streams)
        return (_value(outputs) for outputs in batcher.outputs(results))

    @property
    def folder(self) -> Path | None:
        """The folder with the files of the tokeniser or preprocessor and the configuration;
        ``None`` if the model has none. They are fetched on first use.

        ``transformers.AutoTokenizer.from_pretrained(m.folder)`` reads it.

        Raises HubUnreachable if they are not in the cache and cannot be fetched.
        """
        return self._fetch_companions()

    @property
    def record(self) -> Record | None:
        """The benchmark record of the build, from the cache or the hub."""
        record_id = self._resolution.record_id
        return self._records.read(record_id) if record_id else None

    def reproduce(self, *, send: bool = False) -> "RecordReproduction":
        """Measure the build and the baseline of its record again on this machine, by the same
        protocol in fresh processes; takes minutes.

        The result ``agrees`` if its interval of the ratio overlaps that of the record. What is
        measured is the build as published, whatever it was loaded with.

        Args:
            send: Give the result to the hub, with your name and this host's. The page of the record
                shows it, and counts you among those who confirm the record if it agrees. Needs a
                token that may write.

        Raises:
            BadInput: there is no record, or no build of it to download.
            RuntimeFailed: the build or the baseline does not run.
        """
        return self._records.reproduce(self._resolution.record_id, send=send)

    @property
    def resolution(self) -> Resolution:
        """The hub's answer: the choice, its reason, the alternatives."""
        return self._resolution

    def explain(self) -> str:
        """The chosen build, the reason, the alternatives, and the measurements.

        The speed of generation is read from the record, which the hub is asked for the first time;
        it is left out where the record cannot be read.
        """
        return explain(
            self._resolution,
            self.path,
            record=self._record_of_generation(),
            signature=str(self.signed_by or ""),
            isolation=self.isolation or "",
            threads=self.threads,
        )

    @property
    def caller_placed(self) -> bool:
        """Whether the calling thread was placed in the last run; see :class:`LoadOptions`."""
        return self._runner.caller_placed

    @property
    def isolation(self) -> str | None:
        """How the process of an isolated model is confined; ``None`` if it runs in this process."""
        level: str | None = getattr(self._runner.runtime, "isolation", None)
        return level

    def close(self) -> None:
        """Release threads and memory."""
        self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        what = f"{self.build.backend} build" if self.build else "plain model"
        return f"<{self.name} {self.signature}: {what}>"


def _value(outputs: dict[str, Array]) -> Any:
    """A single output, or all by name."""
    return next(iter(outputs.values())) if len(outputs) == 1 else outputs
