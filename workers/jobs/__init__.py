"""A ticket in, services out: claims work, runs the engine, hands in what it found."""
