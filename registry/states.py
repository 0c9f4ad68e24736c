"""States and the transitions between them, as data. ``docs/states.md`` draws them.

A transition is one filtered UPDATE whose row count says who won (``services/job.py``); nothing
else may write a ``state`` column.
"""

from django.db.models import TextChoices


class Visibility(TextChoices):
    PUBLIC = "public"
    PRIVATE = "private"


class RepositoryKind(TextChoices):
    """What a line of revisions is of. Only models are inspected, tuned and built."""

    MODEL = "model"
    DATASET = "dataset"


class Gate(TextChoices):
    """Who may fetch the files of something all may see: everybody, everybody who asked, or those
    whose request an owner accepted. The Hugging Face Hub's words."""

    OPEN = "open"
    AUTO = "auto"
    MANUAL = "manual"


class RequestState(TextChoices):
    """The automaton of a request for access; an owner may change their mind."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class DiscussionState(TextChoices):
    """The automaton of a discussion; only a pull request can be a draft or be merged.

    ``draft`` -> ``open`` ; ``open`` | ``draft`` -> ``closed`` -> ``open`` ;
    ``open`` | ``draft`` -> ``merged``, which is final.
    """

    DRAFT = "draft"
    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


class EventKind(TextChoices):
    """What happened in a discussion, in the words of the Hugging Face protocol."""

    COMMENT = "comment"
    STATUS = "status-change"
    TITLE = "title-change"
    COMMIT = "commit"


class DeliveryState(TextChoices):
    """The automaton of a webhook's delivery: ``waiting`` until it is taken or given up."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


class NamespaceKind(TextChoices):
    USER = "user"
    ORGANISATION = "organisation"


class Role(TextChoices):
    """What a member may do in an organisation; each role includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


class Scope(TextChoices):
    """What a token may do, never more than its owner; each scope includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


class GrantState(TextChoices):
    """Where a program that waits for a person's consent stands, in OAuth's words (RFC 8628)."""

    PENDING = "authorization_pending"
    HURRIED = "slow_down"
    REFUSED = "access_denied"
    EXPIRED = "expired_token"


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
    ONLINE = "online"
    SUSPECT = "suspect"
    OFFLINE = "offline"


class JobKind(TextChoices):
    """What a job does: reads a network; searches configurations; searches operator schedules;
    finds out which compiler passes the network needs; runs builds again on the test tensors;
    assesses a record from outside; registers a DOI."""

    INSPECT = "inspect"
    TUNE = "tune"
    SCHEDULE = "schedule"
    PASSES = "passes"
    REPRODUCE = "reproduce"
    ASSESS = "assess"
    DOI = "doi"


#: Kinds of jobs for which no hardware matters: workers of the hub itself do them.
HUB_JOBS = frozenset({JobKind.INSPECT, JobKind.ASSESS, JobKind.DOI})


class JobState(TextChoices):
    """The automaton of a job.

    ``queued`` -> ``leased`` (claim) -> ``succeeded`` | ``failed`` | ``queued`` again (lease
    expired or infrastructure failed, attempts left) ; ``queued`` | ``leased`` -> ``cancelled``.
    """

    QUEUED = "queued"
    LEASED = "leased"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


JOB_TRANSITIONS: dict[JobState, frozenset[JobState]] = {
    JobState.QUEUED: frozenset({JobState.LEASED, JobState.CANCELLED}),
    JobState.LEASED: frozenset(
        {JobState.QUEUED, JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED}
    ),
    JobState.SUCCEEDED: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELLED: frozenset(),
}

JOB_ENDED = frozenset(state for state, following in JOB_TRANSITIONS.items() if not following)


class FailureClass(TextChoices):
    """Why work failed, which decides what happens next.

    ``infrastructure`` is retried and charged to nobody; all others are facts about the work
    itself and a retry would only repeat them.
    """

    INFRASTRUCTURE = "infrastructure"
    INVALID = "invalid"
    TIMEOUT = "timeout"
    CRASH = "crash"
    WRONG_OUTPUT = "wrong-output"


class TrialOutcome(TextChoices):
    """How one candidate's trial ended: measured, pruned after few samples, or a failure class."""

    MEASURED = "measured"
    PRUNED = "pruned"
    INFRASTRUCTURE = "infrastructure"
    INVALID = "invalid"
    TIMEOUT = "timeout"
    CRASH = "crash"
    WRONG_OUTPUT = "wrong-output"


class ToleranceClass(TextChoices):
    """How far a build's outputs may stray from the float32 reference, strictest first."""

    EXACT = "exact"
    FP16 = "fp16"
    BF16 = "bf16"
    INT8 = "int8"


class RecordKind(TextChoices):
    SEARCH_TRIAL = "search-trial"
    HEADLINE = "headline"
    REPRODUCTION = "reproduction"


class Verdict(TextChoices):
    """What the confidence interval of the ratio to the baseline allows to say."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNSTABLE = "unstable"


class IdentifierKind(TextChoices):
    """What a persistent identifier names: all versions together, or one."""

    CONCEPT = "concept"
    VERSION = "version"


class Relation(TextChoices):
    """How one network or data set came from another; ``derived`` where nobody tells."""

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


class TensorSide(TextChoices):
    INPUT = "input"
    OUTPUT = "output"


class ReproductionOutcome(TextChoices):
    """What came of running a build again; ``failed`` says it did not run at all."""

    REPRODUCED = "reproduced"
    DIFFERS = "differs"
    FAILED = "failed"
