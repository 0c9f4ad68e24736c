"""Harvests a live hub with Sickle, through all its parts: run in the environment ``oai``.

``oai_harvest.py URL`` writes one JSON object: verb and prefix to what came.
"""

import json
import sys
from typing import Any

from sickle import Sickle  # type: ignore[import-not-found]

URL = sys.argv[1]


def _header(header: Any) -> list[Any]:
    return [header.identifier, header.deleted, header.setSpecs, header.datestamp]


def main() -> None:
    client = Sickle(URL)
    identity = client.Identify()
    found: dict[str, Any] = {
        "Identify": [identity.deletedRecord, identity.adminEmail, identity.earliestDatestamp],
        "ListSets": [one.setSpec for one in client.ListSets()],
        "ListIdentifiers": [
            _header(one) for one in client.ListIdentifiers(metadataPrefix="oai_dc")
        ],
    }
    for prefix in (one.metadataPrefix for one in client.ListMetadataFormats()):
        found[prefix] = [
            [*_header(one.header), None if one.deleted else one.metadata]
            for one in client.ListRecords(metadataPrefix=prefix)
        ]
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
