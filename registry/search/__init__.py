"""Finding MLModels: the query language, tensor signatures, and the index that answers.

The index is a cache. Everything in it comes from the tables, and it may be deleted at any time::

    services --OutboxEntry--> outbox.py --what changed--> documents.py --rows as documents--+
                                                                                            v
    text --parser.py, signature.py--> Query --plan.py--> tantivy queries --> index.py (one writer)
"""
