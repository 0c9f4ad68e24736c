"""Limits on requests: who sends them, which limit applies, how many are left, and the refusal."""
