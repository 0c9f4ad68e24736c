"""Terms and vocabularies that assessors count, written as they stand in records of models."""

from registry.fair.score.reading import CODEMETA, DCT, FAIR4ML, HUB, PROV, SCHEMA

#: Qualified links to related entities.
RELATIONS = (
    DCT.isVersionOf, DCT.hasVersion, DCT.isPartOf, DCT.references, DCT.source, DCT.relation,
    DCT.replaces, DCT.isReplacedBy, SCHEMA.isBasedOn, SCHEMA.citation, SCHEMA.isPartOf,
    SCHEMA.hasPart, SCHEMA.codeRepository, PROV.wasDerivedFrom, PROV.wasRevisionOf,
    FAIR4ML.trainedOn, FAIR4ML.testedOn, FAIR4ML.validatedOn, FAIR4ML.fineTunedFrom,
    CODEMETA.referencePublication,
)  # fmt: skip
#: Training data and base models.
SOURCES = (
    FAIR4ML.trainedOn, FAIR4ML.fineTunedFrom, PROV.wasDerivedFrom, HUB.quantizedFrom,
    HUB.adaptedFrom, HUB.mergedFrom, HUB.exportedFrom, HUB.compiledFrom, HUB.distilledFrom,
    HUB.forkedFrom, HUB.copiedFrom,
)  # fmt: skip
#: What tells whence something came (PROV-DC, W3C Note 2013), and PROV-O itself.
PROVENANCE = (
    SCHEMA.creator, SCHEMA.author, SCHEMA.contributor, SCHEMA.publisher, SCHEMA.dateCreated,
    SCHEMA.datePublished, SCHEMA.dateModified, SCHEMA.isBasedOn, DCT.creator, DCT.publisher,
    DCT.created, DCT.issued, DCT.modified, DCT.isVersionOf, DCT.source, PROV.wasGeneratedBy,
    PROV.wasDerivedFrom, PROV.generatedAtTime,
)  # fmt: skip
#: Of the vocabularies that Linked Open Vocabularies and FAIRsharing list, those of such records.
#: Schema.org, Dublin Core and the like count for nothing here: everybody uses them.
REGISTERED = frozenset({
    "http://www.w3.org/ns/prov", "http://www.w3.org/ns/dcat", "http://www.w3.org/ns/dqv",
    "http://www.w3.org/ns/odrl/2", "http://www.w3.org/ns/adms", "http://www.w3.org/ns/org",
    "http://spdx.org/rdf/terms", "http://mlcommons.org/croissant", "http://purl.org/pav",
})  # fmt: skip
#: Standards of several fields that the catalogue of the Research Data Alliance lists.
COMMUNITY = frozenset({
    "http://purl.org/dc/terms", "http://www.w3.org/ns/dcat", "http://www.w3.org/ns/prov",
    "http://mlcommons.org/croissant",
})  # fmt: skip
