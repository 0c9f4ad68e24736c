"""What the methods of a client share."""

import httpx

from hpcfair.cache import Cache
from hpcfair.config import Config
from hpcfair.transport import Transport
from hpcfair.types import Account
from hpcfair.typingnames import Self


class BaseClient:
    """Settings, connections and cache of a client; the base of its methods."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        config: Config | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.config = config or Config.read(url, token)
        self.http = Transport(self.config, transport=transport)
        self.cache = Cache(
            self.config.cache, self.config.site_caches, budget_bytes=self.config.cache_budget
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close connections."""
        self.http.close()

    def whoami(self) -> Account:
        """The account the token belongs to."""
        return Account.from_json(self.http.get("/api/v1/whoami"))
