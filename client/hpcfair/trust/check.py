"""Decides whether a build may be loaded: what is signed, and whether it is the build that was asked
for."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hpcfair.cache import Cache
from hpcfair.digest import sha256_of_json
from hpcfair.errors import MissingPackage, Untrusted
from hpcfair.transport import Transport, quoted
from hpcfair.trust.envelope import IN_TOTO, can_verify, keys_of, open_envelope
from hpcfair.trust.hubkeys import hub_keys
from hpcfair.trust.keylist import KeyList
from hpcfair.trust.pins import read_pin
from hpcfair.trust.statements import OfferedBuild, confirm_build, confirm_model
from hpcfair.types import File

_INSTALL = "Install what verifies it with: pip install 'hpcfair[verify]'"


class UnverifiedWarning(UserWarning):
    """A build is used although its signature is missing or could not be verified."""


@dataclass(frozen=True, slots=True)
class ValidSignature:
    """A valid signature: the id of the hub's key, and when the build was published."""

    keyid: str
    at: str

    def __str__(self) -> str:
        return f"by the hub's key {self.keyid[:16]}" + (f", {self.at}" if self.at else "")


def check_build(
    http: Transport,
    claim: OfferedBuild,
    envelope: Mapping[str, Any] | None,
    *,
    required: bool,
    is_cached: bool = False,
) -> ValidSignature | None:
    """The valid signature of a build; ``None`` if there is none and none is required, or if its key
    is not known and the hub is not to be asked.

    Args:
        is_cached: Whether the offer comes from the cache. Unless a signature is required, the hub
            is then not asked for its keys.

    Raises:
        Untrusted: the signature is not valid, is of another build, by a key that is not trusted, or
            is missing although it is required.
        MissingPackage: it is required, and ``cryptography`` is not installed.
    """
    if envelope is None:
        _accept_unsigned(http, claim, required=required)
        return None
    if not can_verify():
        if required:
            raise MissingPackage("The signature of this build cannot be verified.", _INSTALL)
        warnings.warn(
            f"{claim.name}: this build is signed, and its signature is not verified. {_INSTALL}",
            UnverifiedWarning,
            stacklevel=6,
        )
        return None
    rests = is_cached and not required
    if rests and read_pin(http.config) is None:
        warnings.warn(
            f"{claim.name}: the signature of this build is not verified, because no key of "
            f"{http.config.url} is trusted yet. `hpcfair trust` shows its key.",
            UnverifiedWarning,
            stacklevel=6,
        )
        return None
    named = keys_of(envelope)
    keys = _keys(http, named, required=required, renew=not rests)
    revoked = next((keyid for keyid in named if keyid in keys.revoked), None)
    if revoked:
        raise Untrusted(
            f"This build is signed by the key {revoked[:16]}, which the hub revoked on "
            f"{keys.revoked[revoked][:10]}.",
            "The hub signs its builds again; try again in some minutes.",
            code="key_revoked",
        )
    statement, keyid = open_envelope(envelope, IN_TOTO, keys.public)
    return ValidSignature(keyid, confirm_build(statement, claim))


def check_model(
    http: Transport,
    cache: Cache,
    name: str,
    revision: str,
    files: Sequence[File],
    *,
    required: bool = True,
) -> ValidSignature:
    """The valid signature of the files of a published model (OpenSSF Model Signing).

    Without ``required``, the keys that a bundle brings suffice.

    Raises Untrusted, MissingPackage: as :func:`check_build`.
    """
    if not can_verify():
        raise MissingPackage(f"The signature of {name} cannot be verified.", _INSTALL)
    key = sha256_of_json({"hub": http.config.url, "signature_of": name, "revision": revision})
    bundle = cache.answer(key)
    if bundle is None:
        bundle = http.get(f"/{quoted(name)}/model.sig", {"revision": revision})
    envelope = bundle.get("dsseEnvelope") if isinstance(bundle, dict) else None
    keys = _keys(http, keys_of(envelope), required=required)
    statement, keyid = open_envelope(envelope, IN_TOTO, keys.public)
    confirm_model(statement, name, revision, files)
    cache.keep_answer(key, bundle)
    return ValidSignature(keyid, "")


def _keys(http: Transport, named: Sequence[str], *, required: bool, renew: bool = True) -> KeyList:
    """The hub's keys. Raises Untrusted: a bundle alone says which they are, and a signature is
    required."""
    config = http.config
    if required and config.key_list is not None and read_pin(config) is None:
        raise Untrusted(
            f"You require a signature, and trust no key of {config.url}: the bundle brings its own "
            "keys, as anybody's could.",
            "Ask the hub's operators for the id of their key, then run: "
            "hpcfair trust ID --bundle FILE",
            code="key_not_trusted",
        )
    return hub_keys(http, named[0] if named else "", renew=renew)


def _accept_unsigned(http: Transport, claim: OfferedBuild, *, required: bool) -> None:
    if required:
        raise Untrusted(
            f"The build of {claim.name} is not signed, and you require a signature.",
            "Ask the hub's operators to sign it, or load it with signed=False.",
            code="not_signed",
        )
    if read_pin(http.config) is not None:
        warnings.warn(
            f"{claim.name}: this hub signs its builds, but this one is not signed.",
            UnverifiedWarning,
            stacklevel=7,
        )
