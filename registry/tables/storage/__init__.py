"""Tables of blobs, uploads and xorbs."""
