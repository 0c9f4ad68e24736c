"""Writes of webhooks and their deliveries."""
