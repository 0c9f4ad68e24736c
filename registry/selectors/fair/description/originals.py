"""Creators of copies: who copies a version does not create it."""

from collections.abc import Callable, Sequence

from django.db.models import Q

from registry.fair import freeze
from registry.fair.description import Description
from registry.fair.parts import Agent
from registry.selectors.access import readable_with
from registry.selectors.fair.copies import is_copy
from registry.selectors.fair.description.inputs import DescriptionInputs
from registry.selectors.fair.identifier import ark_name
from registry.selectors.fair.source import HUB_RELATIONS
from registry.tables import Derivation, Identifier, Revision


def creators_of_originals(
    revisions: Sequence[Revision],
    inputs: DescriptionInputs,
    describe: Callable[[list[Revision]], list[Description]],
) -> dict[int, tuple[Agent, ...]]:
    """Key of a version to the creators of the version that it is a copy of.

    Has only versions whose own cards name no creator. A source counts if every reader of the copy
    may read it, or if it was deleted and its record is kept. Makes no query if there are none.
    """
    copies = [
        (one, row)
        for one in revisions
        if not inputs.metadata[one.pk].card.creators
        for row in inputs.sources.get(one.pk, ())
        if row.relation in HUB_RELATIONS
    ]
    if not copies:
        return {}
    originals = _live(copies, describe) | _records([row for _, row in copies], inputs)
    creators: dict[int, tuple[Agent, ...]] = {}
    for one, row in copies:
        original = originals.get(row.pk)
        digests = {file.path: file.blob_id for file in inputs.files.get(one.pk, ())}
        if original and is_copy(digests, (file.sha256 for file in original.files)):
            creators.setdefault(one.pk, original.creators)
    return {pk: agents for pk, agents in creators.items() if agents}


def _live(
    copies: Sequence[tuple[Revision, Derivation]],
    describe: Callable[[list[Revision]], list[Description]],
) -> dict[int, Description]:
    """Key of a derivation to the description of its source, if that may be shown."""
    rows = [
        row
        for one, row in copies
        if row.source_mlmodel is not None and readable_with(row.source_mlmodel, one.mlmodel)
    ]
    condition = Q(pk__in=[])
    for row in rows:
        condition |= Q(mlmodel=row.source_mlmodel_id, oid=row.source_oid)
    versions = Revision.objects.filter(condition).select_related("mlmodel__namespace")
    # A copy is younger than its source, so that this ends.
    described = dict(
        zip(((one.mlmodel_id, one.oid) for one in versions), describe(list(versions)), strict=True)
    )
    keys = {row.pk: (row.source_mlmodel_id, row.source_oid) for row in rows}
    return {pk: described[key] for pk, key in keys.items() if key in described}


def _records(rows: Sequence[Derivation], inputs: DescriptionInputs) -> dict[int, Description]:
    """Key of a derivation to the kept record of its deleted source."""
    names = {
        row.pk: ark_name(inputs.source_pids[row.pk])
        for row in rows
        if row.source_mlmodel_id is None and row.pk in inputs.source_pids
    }
    identifiers = Identifier.objects.filter(name__in=names.values(), description__isnull=False)
    records = dict(identifiers.values_list("name", "description"))
    return {pk: freeze.load(record) for pk, name in names.items() if (record := records.get(name))}
