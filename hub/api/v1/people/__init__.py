"""Endpoints for people, organisations, their memberships, tokens and sign-ins."""
