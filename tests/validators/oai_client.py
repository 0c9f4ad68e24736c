"""Harvests answers that lie in a folder, with Sickle: run in the environment ``oai``.

Each file is named by its verb; the answer to a resumption token adds ``-next``.
"""

import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from sickle import Sickle  # type: ignore[import-not-found]
from sickle.oaiexceptions import NoRecordsMatch  # type: ignore[import-not-found]

FOLDER = Path(sys.argv[1])


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        name = asked["verb"][0] + ("-next" if "resumptionToken" in asked else "")
        data = (FOLDER / f"{name}.xml").read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", "text/xml; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def main() -> None:
    server = HTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = Sickle(f"http://127.0.0.1:{server.server_port}/")
    assert client.Identify().deletedRecord == "persistent"
    assert [one.setSpec for one in client.ListSets()] == ["models", "datasets"]
    prefixes = [one.metadataPrefix for one in client.ListMetadataFormats()]
    assert prefixes == ["oai_dc", "oai_datacite", "datacite"]
    records = list(client.ListRecords(metadataPrefix="oai_dc"))
    assert [one.deleted for one in records] == [False, False, True, False, False, False, True]
    assert records[1].metadata["creator"] == ["Josiah Carberry", "Ada Beispiel"]
    assert records[3].header.setSpecs == ["datasets"]
    one = client.GetRecord(metadataPrefix="oai_datacite", identifier="any")
    assert one.metadata["schemaVersion"] == ["4.7"]
    try:
        client.ListIdentifiers(metadataPrefix="oai_dc")
    except NoRecordsMatch:
        return
    raise AssertionError("an error is not read as one")


if __name__ == "__main__":
    main()
