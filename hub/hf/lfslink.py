"""Signed addresses: what whoever has one may do, without saying who they are.

An address stands for the token it was made for and ends with it, and for one object of one
repository, of one length. It is signed, not secret: what it says can be read.
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

#: Long enough for the largest file over a slow line, as all addresses are made at the beginning.
UPLOAD_S = 24 * 3600
DOWNLOAD_S = 3600


@dataclass(frozen=True, slots=True)
class Link:
    """What an address says.

    Attributes:
        token: Uuid of the token it was made for; "" for one of nobody, who may fetch what is
            public.
        mlmodel: Uuid of the repository.
        part_key: With ``part_bytes`` the rest of a :class:`PartUpload`; "" for one piece.
    """

    token: str
    mlmodel: str
    sha256: str
    size_bytes: int
    part_key: str = ""
    part_bytes: int = 0

    @property
    def upload(self) -> PartUpload:
        """The parts it is for.

        Raises:
            NotFound: ``upload_not_found``: it is for one piece.
        """
        if not self.part_key:
            raise NotFound("upload_not_found", "This address takes no parts.")
        return PartUpload(self.part_key, self.size_bytes, self.part_bytes)

    def actor(self) -> User | AnonymousUser:
        """Whom it stands for.

        Raises:
            Unauthenticated: their token expired or was revoked.
        """
        return user_of_token_uuid(self.token) if self.token else AnonymousUser()

    def repository(self) -> MLModel:
        """What it is for, if the actor may still read it.

        Raises:
            Unauthenticated: see :meth:`actor`.
            NotFound: ``model_not_found``.
        """
        rows = readable_repositories(self.actor()).filter(uuid=parse_uuid(self.mlmodel))
        mlmodel = rows.select_related("namespace").first()
        if mlmodel is None:
            raise NotFound("model_not_found", "The repository is gone, or you may not read it.")
        return mlmodel

    def address(self, purpose: str) -> str:
        """``purpose`` is ``upload`` or ``download``, an address of one being none of the other."""
        return absolute(f"/api/lfs/{purpose}/{signing.dumps(astuple(self), salt=_salt(purpose))}")


def link_of(signed: str, purpose: str, *, expires_s: int) -> Link:
    """What the last part of an address says.

    Raises:
        Unauthenticated: ``token_invalid`` or ``token_expired``.
    """
    try:
        return Link(*signing.loads(signed, salt=_salt(purpose), max_age=expires_s))
    except signing.SignatureExpired:
        raise Unauthenticated("token_expired", "The address expired; begin again.") from None
    except signing.BadSignature:
        raise Unauthenticated("token_invalid", "The address is not one of this hub's.") from None


def _salt(purpose: str) -> str:
    return f"hub.hf.lfs.{purpose}"
