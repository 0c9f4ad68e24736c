"""Compiler passes that a network needs: a study of one network, portfolios for many."""
