"""Writes to blobs and the ways they arrive (Git LFS, Xet, multipart), quotas, garbage collection
and integrity checks.
"""
