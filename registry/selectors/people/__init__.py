"""Reads of people, organisations, their memberships, tokens and sign-ins."""
