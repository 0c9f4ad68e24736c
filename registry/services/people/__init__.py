"""Writes to people: accounts, organisations, memberships, tokens and sign-ins."""
