"""Tables of test tensors and of reproductions of builds on them."""

from django.db import models

from registry.ids import sha256_column, uuid_column
from registry.states import ReproductionOutcome, TensorSide
from registry.tables.results.build import Build
from registry.tables.results.graph import Graph
from registry.tables.storage.blob import Blob
from registry.tables.work.job import Job


class TestTensor(models.Model):
    """One tensor of one test set of a network, as a serialised ONNX ``TensorProto``.

    Published with the revision (``test_data_set_<number>/input_<index>.pb``), or else made by the
    hub (``is_made``): seeded random inputs, with the outputs of the unoptimised float32 network.
    """

    # Tells pytest that this is no test case.
    __test__ = False

    graph = models.ForeignKey(Graph, models.CASCADE, related_name="test_tensors")
    number = models.PositiveIntegerField()
    side = models.CharField(max_length=8, choices=TensorSide.choices)
    index = models.PositiveIntegerField()
    name = models.CharField(max_length=1024)
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="test_tensors")
    is_made = models.BooleanField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["graph", "number", "side", "index"], name="test_tensor_unique"
            )
        ]


class Reproduction(models.Model):
    """A run of a build on the test tensors, after its search and after each change of its tools."""

    uuid = uuid_column()
    build = models.ForeignKey(Build, models.CASCADE, related_name="reproductions")
    job = models.ForeignKey(Job, models.SET_NULL, null=True, related_name="reproductions")
    # SHA-256 of ``tools``: names and versions of the programs that ran it.
    toolchain = sha256_column()
    tools = models.JSONField(default=dict)
    outcome = models.CharField(max_length=16, choices=ReproductionOutcome.choices)
    deviation = models.JSONField(default=dict)
    detail = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["build", "-created_at"], name="reproduction_newest")]
