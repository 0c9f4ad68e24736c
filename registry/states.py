"""States and other enumerations; :mod:`registry.transitions` says which state follows which."""

from django.db.models import TextChoices


class Visibility(TextChoices):
    PUBLIC = "public"
    PRIVATE = "private"


class RepositoryKind(TextChoices):
    """Kind of a repository. Only models are inspected as networks and tuned."""

    MODEL = "model"
    DATASET = "dataset"


class Gate(TextChoices):
    """Access to files: open, on request, or on accepted request (Hugging Face values)."""

    OPEN = "open"
    AUTO = "auto"
    MANUAL = "manual"


class RequestState(TextChoices):
    """States of a request for access; owners may change their decision."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class DiscussionState(TextChoices):
    """States of a discussion; only pull requests can be drafts or be merged.

    ``draft`` -> ``open`` ; ``open`` | ``draft`` -> ``closed`` -> ``open`` ;
    ``open`` | ``draft`` -> ``merged``, which is final.
    """

    DRAFT = "draft"
    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


class EventKind(TextChoices):
    """Events of a discussion, with the values of the Hugging Face protocol."""

    COMMENT = "comment"
    STATUS = "status-change"
    TITLE = "title-change"
    COMMIT = "commit"


class DeliveryState(TextChoices):
    """States of a webhook's delivery: ``waiting`` until it is accepted or dropped."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


class NamespaceKind(TextChoices):
    USER = "user"
    ORGANISATION = "organisation"


class Role(TextChoices):
    """Role of a member in an organisation; each role includes the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


class Scope(TextChoices):
    """Scope of a token, limited to its owner's rights; each scope includes the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


class RefKind(TextChoices):
    """``refs/heads/<name>``, ``refs/tags/<name>`` and ``refs/pr/<number>``."""

    BRANCH = "branch"
    PULL = "pull"
    TAG = "tag"


class ArchitectureClass(TextChoices):
    """Classes of networks that profit from the same compiler passes, recognised by structure."""

    RESIDUAL_CNN = "residual-cnn"
    DEPTHWISE_CNN = "depthwise-cnn"
    PLAIN_CNN = "plain-cnn"
    DETECTION = "detection"
    TRANSFORMER = "transformer"
    RECURRENT = "recurrent"
    MLP = "mlp"
    OTHER = "other"


class DeviceHealth(TextChoices):
    """Whether a device reports: in time, late, or not at all."""

    ONLINE = "online"
    SUSPECT = "suspect"
    OFFLINE = "offline"


class DeviceState(TextChoices):
    """State of a device, set by its owner, an operator or the hub.

    ``active``: gets jobs; ``draining``: ends its job and gets no more; ``maintenance``: gets none
    until resumed; ``quarantined``: results not trusted; ``retired``: for good, token invalid.
    """

    ACTIVE = "active"
    DRAINING = "draining"
    MAINTENANCE = "maintenance"
    QUARANTINED = "quarantined"
    RETIRED = "retired"


class JobKind(TextChoices):
    """Kinds of jobs; ``docs/glossary.md`` defines them."""

    INSPECT = "inspect"
    TABLES = "tables"
    IMPORT = "import"
    TUNE = "tune"
    SCHEDULE = "schedule"
    ABLATE = "ablate"
    CROSS = "cross"
    PASSES = "passes"
    REPRODUCE = "reproduce"
    ASSESS = "assess"
    DOI = "doi"
    RUN = "run"


#: Kinds of jobs without a target, done by the hub's own workers.
HUB_JOBS = frozenset({JobKind.INSPECT, JobKind.TABLES, JobKind.IMPORT, JobKind.ASSESS, JobKind.DOI})
#: Kinds of jobs on one operator workload, which the parameter ``workload`` names.
WORKLOAD_JOBS = frozenset({JobKind.ABLATE, JobKind.CROSS})


class JobState(TextChoices):
    """States of a job: waiting, held by a worker or device, or one of three ends."""

    QUEUED = "queued"
    LEASED = "leased"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class BundleState(TextChoices):
    """State of a job bundle: carried to its device, results imported, or given up."""

    EXPORTED = "exported"
    IMPORTED = "imported"
    CANCELLED = "cancelled"


class FailureClass(TextChoices):
    """Why a job failed; only ``infrastructure`` is retried and not charged."""

    INFRASTRUCTURE = "infrastructure"
    INVALID = "invalid"
    TIMEOUT = "timeout"
    CRASH = "crash"
    WRONG_OUTPUT = "wrong-output"


class AttemptEnd(TextChoices):
    """How an attempt ended: like its job, ``lost`` with a silent worker, or ``released`` by it."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"
    RELEASED = "released"


class TrialOutcome(TextChoices):
    """Outcome of a trial: measured, pruned after few samples, or a failure class."""

    MEASURED = "measured"
    PRUNED = "pruned"
    INFRASTRUCTURE = "infrastructure"
    INVALID = "invalid"
    TIMEOUT = "timeout"
    CRASH = "crash"
    WRONG_OUTPUT = "wrong-output"


class ToleranceClass(TextChoices):
    """Classes of allowed deviation of a build's outputs from float32, strictest first."""

    EXACT = "exact"
    FP16 = "fp16"
    BF16 = "bf16"
    INT8 = "int8"


class RecordKind(TextChoices):
    """Subject of a benchmark record, with the values of its schema."""

    SEARCH_TRIAL = "search-trial", "Search trial"
    CONFIRMED = "headline", "Confirmed result"
    REPRODUCTION = "reproduction"


class Verdict(TextChoices):
    """Conclusion from the confidence interval of the ratio to the baseline."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNSTABLE = "unstable"


class IdentifierKind(TextChoices):
    """Whether a persistent identifier names all versions of a repository or one."""

    CONCEPT = "concept"
    VERSION = "version"


class Relation(TextChoices):
    """How a network or data set was derived from another; ``derived`` if unspecified."""

    DERIVED = "derived"
    FINETUNE = "finetune"
    QUANTIZED = "quantized"
    ADAPTER = "adapter"
    MERGE = "merge"
    EXPORTED = "exported"
    COMPILED = "compiled"
    DISTILLED = "distilled"
    FORK = "fork"
    COPY = "copy"
    IMPORT = "import"


class TensorSide(TextChoices):
    INPUT = "input"
    OUTPUT = "output"


class ReproductionOutcome(TextChoices):
    """Outcome of a reproduction; ``failed`` means that the build did not run."""

    REPRODUCED = "reproduced"
    DIFFERS = "differs"
    FAILED = "failed"
