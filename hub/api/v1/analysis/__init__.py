"""Analyses: what explains the speed of builds."""
