"""Writes to blobs, uploads (Git LFS, Xet, multipart), quotas, garbage collection."""
