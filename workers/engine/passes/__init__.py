"""Which compiler passes a network needs: studies of one network, portfolios for many."""
