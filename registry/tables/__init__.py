"""Tables: what is stored, with the constraints the database itself keeps.

Reads belong to ``registry.selectors``, writes to ``registry.services``; nothing else writes.
"""

from registry.tables.account import DeviceGrant, Membership, Namespace, Token, User
from registry.tables.assessment import Assessment
from registry.tables.audit import AuditEntry
from registry.tables.blob import Blob
from registry.tables.build import Build, BuildFile
from registry.tables.derivation import Derivation
from registry.tables.device import Device
from registry.tables.discussion import Discussion, DiscussionEvent
from registry.tables.graph import Graph
from registry.tables.identifier import Identifier
from registry.tables.job import Job, JobEvent
from registry.tables.mlmodel import AccessRequest, FormerName, Label, Like, MLModel, Tag
from registry.tables.outbox import OutboxEntry
from registry.tables.passes import PassPortfolio, PassTrial
from registry.tables.profile import CallSite, Kernel, KernelCode, Profile
from registry.tables.record import Record
from registry.tables.reproduction import Reproduction, TestTensor
from registry.tables.revision import File, Ref, Revision
from registry.tables.schedule import ScheduleSketch, ScheduleTask, ScheduleTrial, ScheduleUse
from registry.tables.target import Target
from registry.tables.trial import Trial
from registry.tables.upload import Upload
from registry.tables.webhook import Webhook, WebhookDelivery, WebhookWatch
from registry.tables.xorb import XetFile, Xorb, XorbChunk, XorbRun, XorbUpload

__all__ = [
    "AccessRequest",
    "Assessment",
    "AuditEntry",
    "Blob",
    "Build",
    "BuildFile",
    "CallSite",
    "Derivation",
    "Device",
    "DeviceGrant",
    "Discussion",
    "DiscussionEvent",
    "File",
    "FormerName",
    "Graph",
    "Identifier",
    "Job",
    "JobEvent",
    "Kernel",
    "KernelCode",
    "Label",
    "Like",
    "MLModel",
    "Membership",
    "Namespace",
    "OutboxEntry",
    "PassPortfolio",
    "PassTrial",
    "Profile",
    "Record",
    "Ref",
    "Reproduction",
    "Revision",
    "ScheduleSketch",
    "ScheduleTask",
    "ScheduleTrial",
    "ScheduleUse",
    "Tag",
    "Target",
    "TestTensor",
    "Token",
    "Trial",
    "Upload",
    "User",
    "Webhook",
    "WebhookDelivery",
    "WebhookWatch",
    "XetFile",
    "Xorb",
    "XorbChunk",
    "XorbRun",
    "XorbUpload",
]
