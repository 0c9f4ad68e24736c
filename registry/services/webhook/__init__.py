"""Writes to webhooks and the deliveries that wait for them."""
