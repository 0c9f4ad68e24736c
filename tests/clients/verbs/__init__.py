"""Every verb of the stock client with its result on this hub, called against a live hub.

``python -m tests.clients.verbs`` runs in the environment of the client and imports nothing of the
hub; :mod:`tests.clients.verbs.document` writes docs/huggingface-verbs.md from the same table.
"""
