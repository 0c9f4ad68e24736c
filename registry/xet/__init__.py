"""The Xet protocol's formats and hashes. Knows no tables, no files' names and no HTTP.

A file is cut into *chunks* where its content says so (64 KiB on average), chunks are packed into
*xorbs* (up to 64 MiB), and a *shard* lists which chunks of which xorbs make up a file. An edit
changes a few chunks, so a client that knows which chunks are here sends only those.

Sources: huggingface/xet-core (Apache-2.0), directories ``xet_core_structures`` and ``xet_client``
at v1.6, and the IETF draft draft-denis-xet. What stands there as fact stands here in our words.
"""
