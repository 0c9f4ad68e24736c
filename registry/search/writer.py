"""The writer of an index. Its user holds the lock of the generation that it writes to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

import tantivy

from registry.search.documents import Document
from registry.search.generations import engine
from registry.search.schema import SCHEMA
from registry.search.structures import StructureWriter

_HEAP_BYTES = 64 * 2**20


class Writer:
    """Writes documents and their network structures. Methods raise ``Broken``."""

    def __init__(self, index: tantivy.Index, path: Path) -> None:
        self._index = index
        with engine():
            self._writer = index.writer(_HEAP_BYTES, 1)
        self._structures = StructureWriter(path, self._is_indexed)
        self._searcher = index.searcher()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        # Tantivy's own lock must be released before ours. Merges are completed: aborted merges
        # would leave more and more segments to search.
        with engine():
            self._writer.wait_merging_threads()

    def add(self, document: Document) -> None:
        """Add a document, and its structure if no other document has it."""
        fields = dict(document)
        embedded = fields.pop("embedding", None)
        with engine():
            if embedded:
                self._structures.add(fields["structure"], *embedded)
            self._writer.add_document(tantivy.Document.from_dict(fields, SCHEMA))

    def delete(self, document_uuid: str) -> None:
        """Delete the documents of this ``uuid`` that were added before."""
        with engine():
            self._writer.delete_documents_by_term("uuid", document_uuid)

    def commit(self, state: Mapping[str, bytes]) -> None:
        """Make everything durable, with documents about the index itself by their names."""
        for name, content in state.items():
            self.delete(name)
            self.add({"uuid": name, "cursor": content})
        with engine():
            # Structures first: a document without its structure would be left out of similarity.
            self._structures.commit()
            self._writer.commit()
            self._index.reload()
            self._searcher = self._index.searcher()

    def _is_indexed(self, structure: str) -> bool:
        return self._searcher.doc_freq("structure", structure) > 0
