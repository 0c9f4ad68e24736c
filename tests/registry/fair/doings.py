"""What was done with the sample that says all, and what came of it."""

from datetime import UTC, datetime

from registry.fair.activities import (
    Activity,
    Benchmark,
    BuildDescription,
    Energy,
    Environment,
    Hardware,
    Scan,
)
from registry.fair.parts import Agent, FileDescription, Organization, Software

URL = "https://hub.example.org"
LANDING = f"{URL}/lab/galaxy-cnn"
OID = "5f1c0de0a4b3f1b2c3d4e5f60718293a4b5c6d7e"
PID = f"{URL}/ark:/99999/h2x7k4q9m"
CONCEPT_PID = f"{URL}/ark:/99999/h2b5n8w3t"
MADE = datetime(2026, 3, 1, 12, tzinfo=UTC)
PUBLISHED = datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC)
MODIFIED = datetime(2026, 4, 2, 8, 30, tzinfo=UTC)

CREATOR = Agent(
    name="Josiah Carberry",
    orcid="https://orcid.org/0000-0002-1825-0097",
    affiliations=(Organization(name="Brown University", ror="https://ror.org/05gq02987"),),
    roles=("Software", "Methodology"),
)
OTHER = Agent(name="Ada Beispiel", email="ada@example.org")
ONNX = Software(name="onnxruntime", version="1.31.1", purl="pkg:pypi/onnxruntime@1.31.1")
_OPENVINO = Software(name="openvino", version="2026.4.1", purl="pkg:pypi/openvino@2026.4.1")
_BUILD_URL = f"{URL}/builds/0b8f2a34-5a91-4c1c-8b2f-0d6f3f1f7a11"
_AROUND = Environment(
    facts={"device": "bench-1", "os": "Example Linux 1", "cores": 2}, packages=(ONNX, _OPENVINO)
)
_MACHINE: dict[str, str | float | bool] = {
    "processor": "Example Processor 8000",
    "cores": 2,
    "features": "avx2 avx512f",
}
_AGAIN = "9b" * 32
RECORD = "3fd1c8ae290b858c0bcc4f44b49b1e16d5fda68d55d5045f7f6f5b9ff3232088"
_JOB_URL = f"{URL}/jobs/6b4d3c2a-1f0e-4d9c-8b7a-695847362514"

ACTIVITIES = (
    Activity(
        url=f"{LANDING}/commit/{OID}",
        kind="publish",
        title="Publish v2",
        ended=MADE,
        agent=CREATOR,
        generated=(PID,),
    ),
    Activity(
        url=_JOB_URL,
        kind="tune",
        title="Tune for x86-64-avx512vnni",
        started=PUBLISHED,
        ended=MODIFIED,
        used=(PID,),
        generated=(_BUILD_URL,),
        tools=(_OPENVINO, ONNX),
        hardware="x86-64-avx512vnni",
        environment=Environment(facts=_AROUND.facts),
        seed=0,
        parameters={"strategy": "learned"},
    ),
    Activity(
        url=f"{_BUILD_URL}#making",
        kind="quantise",
        title="Quantise for x86-64-avx512vnni with openvino",
        ended=MODIFIED,
        agent=OTHER,
        used=(PID, f"{LANDING}/resolve/{OID}/samples.npz"),
        generated=(_BUILD_URL,),
        tools=(_OPENVINO,),
        hardware="x86-64-avx512vnni",
        environment=_AROUND,
        seed=0,
        within=_JOB_URL,
        parameters={"precision": "int8"},
    ),
    Activity(
        url=f"{URL}/records/{RECORD}#measuring",
        kind="benchmark",
        title="Measure on x86-64-avx512vnni with openvino",
        ended=MODIFIED,
        used=(_BUILD_URL,),
        generated=(f"{URL}/records/{RECORD}",),
        tools=(ONNX,),
        hardware="x86-64-avx512vnni",
        environment=_AROUND,
        within=_JOB_URL,
        parameters={"runs_per_block": 5},
    ),
    Activity(
        url=f"{LANDING}?revision={OID}#finetune",
        kind="train",
        title="Fine-tune",
        ended=None,
        used=(f"{URL}/ark:/99999/h2c6p9x4u", f"{URL}/ark:/99999/h2f8r3z6w"),
        generated=(PID,),
        environment=Environment(facts={"hardware": "1 x H200"}),
    ),
)
BUILDS = (
    BuildDescription(
        uuid="0b8f2a34-5a91-4c1c-8b2f-0d6f3f1f7a11",
        url=_BUILD_URL,
        target="x86-64-avx512vnni",
        processor="Example Processor 8000",
        backend="openvino",
        tolerance="int8",
        entry_point="model.xml",
        files=(
            FileDescription(
                path="model.xml",
                url=f"{URL}/api/v1/models/lab/galaxy-cnn/builds/x/files/model.xml",
                size_bytes=123_456,
                sha256="ab" * 32,
                media_type="application/octet-stream",
                role="model",
            ),
        ),
        benchmark=Benchmark(
            id=RECORD,
            url=f"{URL}/records/{RECORD}",
            document_url=f"{URL}/api/v1/records/{RECORD}",
            baseline="onnxruntime defaults",
            p50_ns=1_234_567,
            ratio=0.42,
            ratio_low=0.40,
            ratio_high=0.45,
            measured=MODIFIED,
            samples=1200,
            mean_ns=1_240_000.5,
            p90_ns=1_300_000.0,
            p95_ns=1_350_000.0,
            p99_ns=1_500_000.0,
            throughput_per_s=806.45,
            peak_memory_bytes=96_468_992,
            energy=Energy(joules=0.0425, method="measured", source="rapl-package"),
            environment=_AROUND,
        ),
        created=MODIFIED,
        options={"precision": "int8", "threads": "all"},
        tools=(_OPENVINO,),
        deviation={"max_abs": 0.01, "max_rel": 0.02},
        accuracy=0.979,
        accuracy_reference=0.98,
        reproduced=True,
    ),
)
REPETITIONS = (
    Benchmark(
        id=_AGAIN,
        url=f"{URL}/records/{_AGAIN}",
        document_url=f"{URL}/api/v1/records/{_AGAIN}",
        baseline="onnxruntime defaults",
        p50_ns=1_300_000,
        ratio=0.45,
        by="third party",
        target="x86-64-avx512vnni",
        backend="openvino",
        reproduces=RECORD,
    ),
)
TUNED_ON = (
    Hardware(slug="x86-64-avx512vnni", url=f"{URL}/targets/x86-64-avx512vnni", facts=_MACHINE),
)
SCAN = Scan(is_accepted=True, at=MODIFIED, url=_JOB_URL, findings=("old.onnx was not read.",))
