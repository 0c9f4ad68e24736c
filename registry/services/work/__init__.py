"""Writes to the job queue, and the targets and devices that jobs run on."""
