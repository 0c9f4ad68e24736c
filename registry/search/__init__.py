"""Search for MLModels: query language, tensor signatures and the full-text index.

The index is a cache of the tables and may be deleted at any time. Its entry point is
``registry/selectors/search/catalogue.py``. Modules::

    queries                                   index
      parser.py      text -> Query              outbox.py       changed rows since a cursor
      vocabulary.py  filters, orders, help      documents.py    rows -> documents
      comparisons.py latency:<5ms, encoding     writer.py       documents -> index
      signature.py   text <-> signature         index.py        catching up, building
      fit.py         matching of signatures     background.py   building outside of requests
      plan.py        Query -> tantivy query     generations.py  index folder, locks, replacement
      orders.py      orders, pages              snapshot.py     copies for other hosts
      number_order.py   orders by numbers
      sampling.py    bounds of sorted pages
      counts.py      totals and facets
      hints.py       values that nobody has
      names.py       parts of names

    both: schema.py, the fields, words and terms; structures.py, embeddings for similarity
    other reads over all rows: digests.py, their stored results; scale.py, when they are needed
"""
