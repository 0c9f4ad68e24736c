"""Runs models on devices of the hub with the user's inputs, and fetches outputs and times."""

import base64
import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from hpcfair.acceptance import EXACT, Acceptance
from hpcfair.arrays import read_arrays, write_arrays
from hpcfair.errors import BadInput, Corrupt
from hpcfair.explain import deviation_text
from hpcfair.job import Job
from hpcfair.mlmodel import address
from hpcfair.runtimes.base import Array
from hpcfair.signature import Signature
from hpcfair.transport import Transport, quoted
from hpcfair.types import Build
from hpcfair.upload import upload

_CHUNK_BYTES = 2**20


class RemoteRun:
    """A run of a model on a device of the hub, with inputs of this account. It is visible to this
    account only, and deleted at ``expires_at``.

    Attributes:
        job: Its job: state, progress, device, failure.
        build: The build that runs; ``None`` for the published model.
        reason: Why this build was selected.
        samples_ns: Duration of each timed run in nanoseconds, in order; empty before the end.
        first_ns: Duration of the run that gave the outputs in nanoseconds, transfer of the arrays
            included.
        deviation: Deviation of the outputs from the network in float32 without optimisations, on
            the same inputs, as in :class:`hpcfair.Build`; ``None`` if they were not compared.
        not_compared: Why there is no deviation.
        expires_at: Time of deletion in ISO 8601.
    """

    def __init__(self, http: Transport, data: Mapping[str, Any]) -> None:
        self._http = http
        self._outputs: dict[str, Array] | None = None
        self.job = Job(http, data["job"])
        self._take(data)

    def _take(self, data: Mapping[str, Any]) -> None:
        build = data.get("build")
        self.build = Build.from_json(build) if build else None
        self.reason = str(data.get("reason") or "")
        self.samples_ns: tuple[int, ...] = tuple(data.get("samples_ns") or ())
        self.first_ns: int | None = data.get("first_ns")
        self.deviation: dict[str, float] | None = data.get("deviation")
        self.not_compared = str(data.get("not_compared") or "")
        self.expires_at = str(data.get("expires_at") or "")

    @property
    def uuid(self) -> str:
        """Id of the job."""
        return self.job.uuid

    @property
    def median_ns(self) -> float | None:
        """Median of ``samples_ns`` in nanoseconds; ``None`` before the end."""
        return median(self.samples_ns) if self.samples_ns else None

    @property
    def outputs(self) -> dict[str, Array]:
        """Arrays by output name; waits for the end of the run and downloads them once.

        Raises as :meth:`wait`; NotFound if they were deleted; Corrupt if the bytes that arrive
        differ from those that the hub stores.
        """
        if self._outputs is None:
            if not self.job.ended:
                self.wait()
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "outputs.npz"
                self.download(path)
                self._outputs = read_arrays(path)
        return self._outputs

    def download(self, path: Path) -> None:
        """Write the outputs to a ``.npz`` file. Raises NotFound and Corrupt as :attr:`outputs`."""
        hashed = hashlib.sha256()
        with (
            self._http.open("GET", f"{self._address}/outputs") as response,
            path.open("wb") as file,
        ):
            for chunk in response.iter_bytes(_CHUNK_BYTES):
                hashed.update(chunk)
                file.write(chunk)
            expected = response.headers.get("Repr-Digest")
        digest = base64.b64encode(hashed.digest()).decode()
        if expected is not None and expected != f"sha-256=:{digest}:":
            raise Corrupt(
                f"The outputs of run {self.uuid} arrived damaged.", "Download them again."
            )

    def wait(self, timeout_s: float | None = None) -> "RemoteRun":
        """Wait for the end, with a progress bar on a terminal; raises as
        :meth:`hpcfair.Job.wait`."""
        self.job.wait(timeout_s)
        return self.refresh()

    def refresh(self) -> "RemoteRun":
        """Request the current state."""
        data = self._http.get(self._address)
        self.job = Job(self._http, data["job"])
        self._take(data)
        return self

    def cancel(self) -> "RemoteRun":
        """Cancel the run."""
        self.job.cancel()
        return self

    def delete(self) -> None:
        """Delete inputs, outputs and measurements from the hub. Raises Conflict before the end."""
        self._http.json("DELETE", self._address)
        self._outputs = None

    @property
    def _address(self) -> str:
        return f"/api/v1/jobs/{quoted(self.uuid)}/run"

    def __str__(self) -> str:
        what = "the published model"
        if self.build is not None:
            what = f"{self.build.backend}, {self.build.tolerance}, for {self.build.target}"
        lines = [f"{self.job.model} on {self.job.target}: {self.job.state}", f"  ran        {what}"]
        if self.job.device:
            lines.append(f"  device     {self.job.device}")
        if self.median_ns is not None:
            count = len(self.samples_ns)
            lines.append(f"  median     {self.median_ns / 1e6:.3g} ms of {count} runs")
        if self.deviation is not None:
            lines.append(f"  deviation  {deviation_text(self.deviation)}")
        elif self.not_compared:
            lines.append(f"  deviation  not compared: {self.not_compared}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<RemoteRun {self.uuid} {self.job.model} on {self.job.target}: {self.job.state}>"


def run_on(
    http: Transport,
    target: str,
    name: str,
    inputs: Any,
    *,
    revision: str | None = None,
    acceptance: Acceptance = EXACT,
    build: str | None = None,
) -> RemoteRun:
    """Request a run; see :meth:`hpcfair.Client.run_on`."""
    if build is not None and not acceptance.is_default:
        raise BadInput("A build and limits cannot be combined.", "Give either a build or limits.")
    facts = http.get(f"{address(name)}/graph", {"revision": revision})
    arrays = _bound(Signature.from_json(facts), inputs)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "inputs.npz"
        write_arrays(path, arrays)
        digest = upload(http, {path.name: path}, what=f"inputs of {name}")[path.name]
    limits = {} if acceptance.is_default else acceptance.to_json()
    options = {"revision": revision, "build": build, **limits}
    body = {key: value for key, value in options.items() if value is not None}
    body |= {"target": target, "inputs": digest}
    return RemoteRun(http, http.post(f"{address(name)}/runs", body))


def remote_run(http: Transport, uuid: str) -> RemoteRun:
    """The run of a job of this account."""
    return RemoteRun(http, http.get(f"/api/v1/jobs/{quoted(uuid)}/run"))


def _bound(signature: Signature, inputs: Any) -> dict[str, Array]:
    """Inputs by name as the signature requires them. Raises BadInput."""
    positional = inputs if isinstance(inputs, list | tuple) else (inputs,)
    arrays = signature.bind(positional, {})
    # Text as text, because a pickle would be refused.
    return {key: a.astype(str) if a.dtype == object else a for key, a in arrays.items()}
