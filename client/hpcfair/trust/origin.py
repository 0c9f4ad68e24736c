"""Who signed the files of an import at the hub that they come from."""

from dataclasses import dataclass

from hpcfair.hubimport import read_stored_evidence
from hpcfair.revision import revision
from hpcfair.transport import Transport
from hpcfair.trust.evidence import is_trusted, open_evidence
from hpcfair.trust.pins import read_pin


@dataclass(frozen=True, slots=True)
class OriginSignature:
    """The signature of another hub on files that were imported from it.

    Attributes:
        origin: Address of the model there, at commit ``commit``.
        keyid: Key that signed exactly these files; empty if none did.
        is_trusted: Whether it follows from the key of that hub that this user trusts.
        builds: Number of builds that the other hub signed.
    """

    origin: str
    commit: str
    keyid: str
    is_trusted: bool
    builds: int

    def __str__(self) -> str:
        if not self.keyid:
            return f"not by {self.origin}, or the files were changed in the import"
        hub = self.origin.rsplit("/", 2)[0]
        trusted = "which you trust" if self.is_trusted else "which you do not trust"
        advice = "" if self.is_trusted else f"; to trust it: hpcfair --url {hub} trust ID"
        return f"by the key {self.keyid[:16]} of {hub}, {trusted}{advice}"


def origin_signature(http: Transport, name: str, oid: str) -> OriginSignature | None:
    """The signature of the origin on a revision; ``None`` if the hub has no evidence of another
    one.

    Raises:
        Untrusted: a signature in the evidence is not valid.
        MissingPackage: ``cryptography`` is not installed.
    """
    answer = read_stored_evidence(http, name, oid)
    if answer is None:
        return None
    evidence = open_evidence(answer["document"])
    files = {file.path: file.sha256 for file in revision(http, name, oid).files}
    pin = read_pin(http.config.for_server(evidence.hub))
    return OriginSignature(
        evidence.url,
        evidence.revision,
        evidence.signed_by if evidence.covers(files) else "",
        pin is not None and is_trusted(answer["document"], pin.keyid),
        sum(bool(one.keyid) for one in evidence.builds),
    )
