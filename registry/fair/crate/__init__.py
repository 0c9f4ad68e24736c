"""RO-Crate of a version, and Croissant of its measurements."""
