"""OAI-PMH 2.0: requests, answers and metadata payloads."""
