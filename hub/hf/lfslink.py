"""Signed addresses that authorise one transfer of Git LFS without further credentials.

An address acts for the token it was issued to, and is revoked with it. It is valid for one object
of one repository and one length. It is signed, not encrypted: its claims can be read.
"""

from dataclasses import astuple, dataclass

from django.contrib.auth.models import AnonymousUser
from django.core import signing

from hub.hf.views import absolute
from registry.errors import NotFound, Unauthenticated
from registry.ids import parse_uuid
from registry.selectors.access import readable_repositories
from registry.selectors.people.account import user_of_token_uuid
from registry.storage import PartUpload
from registry.tables import MLModel, User

#: All addresses are issued at the start, so this covers the largest file on a slow connection.
UPLOAD_S = 24 * 3600
DOWNLOAD_S = 3600


@dataclass(frozen=True, slots=True)
class SignedLink:
    """The claims of an address.

    Attributes:
        token: Uuid of the token it was issued to; "" for anonymous downloads of public files.
        mlmodel: Uuid of the repository.
        part_key, part_bytes: Of a :class:`PartUpload`; "" and 0 for a transfer in one piece.
    """

    token: str
    mlmodel: str
    sha256: str
    size_bytes: int
    part_key: str = ""
    part_bytes: int = 0

    @property
    def upload(self) -> PartUpload:
        """Its multipart upload. Raises ``NotFound``: ``upload_not_found`` for a single piece."""
        if not self.part_key:
            raise NotFound("upload_not_found", "This address takes no parts.")
        return PartUpload(self.part_key, self.size_bytes, self.part_bytes)

    def actor(self) -> User | AnonymousUser:
        """The token's owner, or an anonymous user. Raises ``Unauthenticated`` if invalid."""
        return user_of_token_uuid(self.token) if self.token else AnonymousUser()

    def repository(self) -> MLModel:
        """Its repository. Raises ``NotFound`` if unreadable; for others see :meth:`actor`."""
        rows = readable_repositories(self.actor()).filter(uuid=parse_uuid(self.mlmodel))
        mlmodel = rows.select_related("namespace").first()
        if mlmodel is None:
            raise NotFound(
                "model_not_found", "The repository does not exist, or you may not read it."
            )
        return mlmodel

    def address(self, purpose: str) -> str:
        """The address for ``purpose``, ``upload`` or ``download``; not valid for the other."""
        return absolute(f"/api/lfs/{purpose}/{signing.dumps(astuple(self), salt=_salt(purpose))}")


def link_of(signed: str, purpose: str, *, expires_s: int) -> SignedLink:
    """Verify and read the last part of an address.

    Raises ``Unauthenticated``: ``token_invalid`` or ``token_expired``.
    """
    try:
        return SignedLink(*signing.loads(signed, salt=_salt(purpose), max_age=expires_s))
    except signing.SignatureExpired:
        raise Unauthenticated("token_expired", "The address is expired; start again.") from None
    except signing.BadSignature:
        raise Unauthenticated("token_invalid", "The address was not issued by this hub.") from None


def _salt(purpose: str) -> str:
    return f"hub.hf.lfs.{purpose}"
