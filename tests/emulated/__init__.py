"""Tests on emulated machines of another processor."""
