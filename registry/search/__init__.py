"""Search for MLModels: query language, tensor signatures and the full-text index.

The index is a cache of the tables and may be deleted at any time. Its entry point is
``registry/selectors/search/catalogue.py``. Modules::

    queries                                  index
      parser.py     text -> Query              outbox.py       changed rows since a cursor
      signature.py  text <-> signature         documents.py    rows -> documents
      fit.py        matching of signatures     index.py        single writer, catching up
      plan.py       Query -> tantivy query     generations.py  index folder, lock, replacement
      orders.py     orders, pages, similarity

    both: schema.py, the fields, words and terms
"""
