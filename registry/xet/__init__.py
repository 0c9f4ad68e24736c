"""Formats and hashes of the Xet protocol. Knows neither tables, file names nor HTTP.

A file is divided into content-defined *chunks* (64 KiB on average), chunks are packed into *xorbs*
(up to 64 MiB), and a *shard* lists which chunks of which xorbs make up a file. An edit changes few
chunks, so a client that knows which chunks the hub has sends only the others.

Sources: huggingface/xet-core (Apache-2.0), directories ``xet_core_structures`` and ``xet_client``
at v1.6, and the IETF draft draft-denis-xet; facts only, in our words.
"""
