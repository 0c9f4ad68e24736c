"""RO-Crate of a version, and Croissant of what was measured."""
