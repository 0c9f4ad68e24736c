"""Writes to people, organisations, their memberships, tokens and sign-ins."""
