"""Workers: inspect, compile, tune, check and measure models."""
