"""Reads of webhooks and their deliveries."""
