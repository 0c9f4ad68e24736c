"""Tables of webhooks and their deliveries."""
