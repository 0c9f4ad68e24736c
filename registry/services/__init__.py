"""Writes. A service asks: may you, is it in the right state; then one transaction, audited."""
