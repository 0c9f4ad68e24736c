"""Finding MLModels: the query language, tensor signatures, and the index that answers.

The index is a cache: everything in it comes from the tables, and any of it may be deleted at any
time. ``registry/selectors/search/catalogue.py`` is the door; the rooms behind it::

    a question                               the tables
      parser.py     text -> Query              outbox.py       which rows changed
      signature.py  text <-> signature         documents.py    rows -> documents
      fit.py        does a signature fit       index.py        the one writer, catching up
      plan.py       Query -> tantivy query     generations.py  the folder, its lock, its swap
      orders.py     orders, pages, likeness

    between them: schema.py, the fields, words and terms both sides agree on
"""
