"""Tables: the stored rows, and the constraints that the database enforces.

Reads belong to ``registry.selectors``, writes to ``registry.services``; nothing else writes.
"""

from registry.tables.analysis.ablation import ScheduleAblation
from registry.tables.analysis.crossapplication import CrossApplication
from registry.tables.analysis.importedprofile import ImportedCall, ImportedProfile
from registry.tables.analysis.principle import Principle, PrincipleStatus, PrincipleVersion
from registry.tables.analysis.roof import Roof, RoofSet
from registry.tables.analysis.topology import Topology
from registry.tables.audit import AuditEntry
from registry.tables.discussion.discussion import Discussion, DiscussionEvent
from registry.tables.fair.assessment import Assessment
from registry.tables.fair.derivation import Derivation
from registry.tables.fair.identifier import Identifier
from registry.tables.people.account import (
    DeviceGrant,
    FormerNamespace,
    Membership,
    Namespace,
    Token,
    User,
)
from registry.tables.people.signin import SignInAttempts
from registry.tables.people.usertarget import UserTarget
from registry.tables.repository.file import File, FileSeries
from registry.tables.repository.mlmodel import AccessRequest, FormerName, Label, Like, MLModel, Tag
from registry.tables.repository.revision import Ref, Revision
from registry.tables.repository.tree import Tree
from registry.tables.results.best import BestBuild
from registry.tables.results.build import Build, BuildFile
from registry.tables.results.conversion import Conversion, ConversionFile, Converter
from registry.tables.results.graph import Graph
from registry.tables.results.passes import PassPortfolio, PassTrial
from registry.tables.results.profile import CallSite, Kernel, KernelCode, Profile
from registry.tables.results.record import Record
from registry.tables.results.reproduction import Reproduction, TestTensor
from registry.tables.results.schedule import (
    ScheduleSketch,
    ScheduleTask,
    ScheduleTrial,
    ScheduleUse,
)
from registry.tables.results.trial import Trial
from registry.tables.search.outbox import OutboxEntry
from registry.tables.storage.blob import Blob, PartsBegun, Upload
from registry.tables.storage.datatable import DataTable
from registry.tables.storage.sweep import Sweep
from registry.tables.storage.xorb import XetFile, Xorb, XorbChunk, XorbRun, XorbUpload
from registry.tables.trust.evidence import AlternateIdentifier, ForeignEvidence, ForeignHub
from registry.tables.trust.key import HubKey
from registry.tables.webhook.webhook import Webhook, WebhookDelivery, WebhookWatch
from registry.tables.work.ban import Ban, CandidateCrash
from registry.tables.work.bundle import JobBundle
from registry.tables.work.device import Device, DeviceCode
from registry.tables.work.job import Job, JobEvent
from registry.tables.work.jobattempt import JobAttempt
from registry.tables.work.jobblob import JobBlob, JobUpload
from registry.tables.work.jobwrite import JobReport, JobWrite
from registry.tables.work.queue import JobFlow, JobQueue
from registry.tables.work.requirement import JobRequirement, StudyStatistic
from registry.tables.work.run import RemoteRun
from registry.tables.work.target import Target

__all__ = [
    "AccessRequest", "AlternateIdentifier", "Assessment", "AuditEntry", "Ban", "BestBuild", "Blob",
    "Build", "BuildFile", "CallSite", "CandidateCrash", "Conversion", "ConversionFile", "Converter",
    "CrossApplication", "DataTable", "Derivation", "Device", "DeviceCode", "DeviceGrant",
    "Discussion", "DiscussionEvent", "File", "FileSeries", "ForeignEvidence", "ForeignHub",
    "FormerName", "FormerNamespace", "Graph", "HubKey", "Identifier", "ImportedCall",
    "ImportedProfile", "Job", "JobAttempt", "JobBlob", "JobBundle", "JobEvent", "JobFlow",
    "JobQueue", "JobReport", "JobRequirement", "JobUpload", "JobWrite", "Kernel", "KernelCode",
    "Label", "Like", "MLModel", "Membership", "Namespace", "OutboxEntry", "PartsBegun",
    "PassPortfolio", "PassTrial", "Principle", "PrincipleStatus", "PrincipleVersion", "Profile",
    "Record", "Ref", "RemoteRun", "Reproduction", "Revision", "Roof", "RoofSet", "ScheduleAblation",
    "ScheduleSketch", "ScheduleTask", "ScheduleTrial", "ScheduleUse", "SignInAttempts",
    "StudyStatistic", "Sweep", "Tag", "Target", "TestTensor", "Token", "Topology", "Tree", "Trial",
    "Upload", "User", "UserTarget", "Webhook", "WebhookDelivery", "WebhookWatch", "XetFile", "Xorb",
    "XorbChunk", "XorbRun", "XorbUpload",
]  # fmt: skip
