"""Tables of webhooks and the deliveries that wait for them."""
