"""Protection of passwords against guessing, without lock-outs that a stranger can cause.

Each password that is about to be checked counts as a failure until it proves correct, so that
parallel guesses are counted too. After some failures the next guess must wait, for twice as long
after each one. Failures are counted

- for an account *and* the network that guesses, so that guesses from elsewhere do not delay the
  owner of the account;
- for the network, over all accounts, with short waits, since a network may have many people;
- for an account and a *browser in which its owner has signed in before*, which has a signed cookie:
  it counts for itself and for nothing else, so that its owner is never delayed by others.

If very many networks guess at one account, each new one has a single free guess and longer waits.
Sessions and tokens are not affected by any of this.

The counters are in the database: they hold while the broker is down, and for all processes.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from registry.tables import SignInAttempts

#: Age after which a counter is deleted.
_LIFETIME = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Waits after failures.

    Attributes:
        free: Failures without a wait.
        base_s, most_s: First and longest wait in seconds; each failure doubles it.
        forget_s: Seconds after the last failure at which all are forgotten.
    """

    free: int
    base_s: float
    most_s: float
    forget_s: float

    def wait_s(self, failures: int, since_s: float) -> float:
        """Seconds to wait, ``since_s`` seconds after the last of ``failures``; 0: none."""
        if failures < self.free or since_s >= self.forget_s:
            return 0.0
        # Bounded before the power, which would overflow.
        doublings = min(failures - self.free, 30)
        return max(0.0, min(self.most_s, self.base_s * 2.0**doublings) - since_s)


_DAY_S, _HOUR_S = 86_400, 3600
PAIR = Schedule(free=5, base_s=2, most_s=300, forget_s=_DAY_S)
#: Of a network that is new to an account under attack.
PAIR_UNDER_ATTACK = Schedule(free=1, base_s=60, most_s=3600, forget_s=_DAY_S)
NETWORK = Schedule(free=50, base_s=1, most_s=30, forget_s=_HOUR_S)
BROWSER = Schedule(free=10, base_s=2, most_s=300, forget_s=_HOUR_S)
#: Failures of all networks at one account, without a pause of an hour, that are an attack.
ATTACK = 100


@dataclass(frozen=True, slots=True)
class SignIn:
    """Who tries to sign in.

    Attributes:
        username: As typed.
        network: Address or network of the sender; "" if unknown.
        browser: Random id of a browser in which the owner has signed in before; "" for others.
    """

    username: str
    network: str
    browser: str = ""


def signin_begin(attempt: SignIn) -> float:
    """Count an attempt before its password is checked.

    Returns 0.0, and the caller calls :func:`signin_succeed` if the password is correct; or the
    seconds to wait, and the password must not be checked.
    """
    now = timezone.now()
    with transaction.atomic():
        rows = _locked(attempt, now)
        waits = [
            schedule.wait_s(row.failures, (now - row.last_at).total_seconds())
            for row, schedule in rows
        ]
        if max(waits) > 0:
            return max(waits)
        for row, schedule in rows:
            is_old = (now - row.last_at).total_seconds() >= schedule.forget_s
            row.failures = 1 if is_old else row.failures + 1
            row.last_at = now
            row.save(update_fields=["failures", "last_at"])
    SignInAttempts.objects.filter(last_at__lt=now - _LIFETIME).delete()
    return 0.0


def signin_succeed(attempt: SignIn) -> None:
    """Forget the failures of the person who has signed in."""
    own, *shared = _keys(attempt)
    SignInAttempts.objects.filter(key=own).delete()
    # Another account's password must not erase the guesses at other accounts.
    SignInAttempts.objects.filter(key__in=shared).update(failures=Greatest(F("failures") - 1, 0))


def _locked(attempt: SignIn, now: datetime) -> list[tuple[SignInAttempts, Schedule]]:
    """The counters of an attempt, locked, each with its schedule."""
    keys = _keys(attempt)
    SignInAttempts.objects.bulk_create(
        [SignInAttempts(key=key, last_at=now) for key in keys], ignore_conflicts=True
    )
    # In one order, so that two attempts do not wait for each other.
    held = SignInAttempts.objects.select_for_update().filter(key__in=keys).order_by("key")
    rows = {row.key: row for row in held}
    if attempt.browser:
        return [(rows[keys[0]], BROWSER)]
    pair, account, *networks = (rows[key] for key in keys)
    is_recent = (now - account.last_at).total_seconds() < _HOUR_S
    schedule = PAIR_UNDER_ATTACK if account.failures >= ATTACK and is_recent else PAIR
    return [
        (pair, schedule),
        # Never a reason to wait: it would lock the owner out.
        (account, Schedule(free=2**31, base_s=0, most_s=0, forget_s=_HOUR_S)),
        *((network, NETWORK) for network in networks),
    ]


def _keys(attempt: SignIn) -> list[str]:
    """Keys of the counters; the first is the person's own."""
    account = attempt.username.strip().lower()
    if attempt.browser:
        return [_digest("browser", account, attempt.browser)]
    keys = [_digest("pair", account, attempt.network), _digest("account", account)]
    return [*keys, _digest("network", attempt.network)] if attempt.network else keys


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()
