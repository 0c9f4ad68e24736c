"""Reads of people: accounts, organisations, memberships, tokens and sign-ins."""
