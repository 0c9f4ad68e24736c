"""``model.sig``: a signature of OpenSSF Model Signing on the files of a version.

``model_signing verify key`` checks a downloaded folder with it, without the hub.
"""

import json

from django.http import HttpRequest, HttpResponse

from hub.fair.headers import harmless
from hub.fair.subject import version_view
from hub.files import caching
from registry.attestations.envelope import IN_TOTO, sign
from registry.attestations.keys import SigningUnavailable
from registry.attestations.statements import BUNDLE_TYPE, bundle, model_statement
from registry.errors import Unavailable
from registry.selectors.fair.identifier import ark_of, identifiers_at
from registry.selectors.repository.revision import files_of
from registry.services.trust.key import current_key
from registry.tables import Revision


@version_view
def model_signature(request: HttpRequest, revision: Revision) -> HttpResponse:  # noqa: ARG001
    """The signature of a version's files as a Sigstore bundle, made on request."""
    files = dict(files_of(revision).values_list("path", "blob_id"))
    try:
        _, key = current_key()
        name = f"{revision.mlmodel.full_name}@{revision.oid}"
        envelope = sign(model_statement(name, files, _identifiers(revision)), IN_TOTO, key)
    except SigningUnavailable as error:
        raise Unavailable("signing_unavailable", str(error)) from error
    signed = bundle(envelope, key.keyid)
    response = harmless(HttpResponse(json.dumps(signed), content_type=BUNDLE_TYPE))
    response.headers["Content-Disposition"] = 'attachment; filename="model.sig"'
    response.headers["Cache-Control"] = caching(revision.mlmodel, fixed=False)
    return response


def _identifiers(revision: Revision) -> dict[str, str]:
    concept, version = identifiers_at(revision)
    stated = {
        "model": ark_of(concept.name) if concept else "",
        "version": ark_of(version.name) if version else "",
        "doi": f"doi:{version.doi}" if version and version.doi else "",
    }
    return {kind: text for kind, text in stated.items() if text}
