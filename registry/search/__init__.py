"""Search for MLModels: query language, tensor signatures and the full-text index.

The index is a cache of the tables and may be deleted at any time. Its entry point is
``registry/selectors/search/catalogue.py``. Modules::

    queries                                  index
      parser.py     text -> Query              outbox.py       changed rows since a cursor
      signature.py  text <-> signature         documents.py    rows -> documents
      fit.py        matching of signatures     writer.py       documents -> index
      plan.py       Query -> tantivy query     index.py        catching up, building
      orders.py     orders, pages              background.py   building outside of requests
      counts.py     totals and facets          generations.py  index folder, locks, replacement
      names.py      parts of names             snapshot.py     copies for other hosts

    both: schema.py, the fields, words and terms; structures.py, embeddings for similarity
    other reads over all rows: digests.py, their stored results; scale.py, when they are needed
"""
