"""Things to publish and to learn from; no part of the hub."""
