"""The shop floor: inspect, compile, tune, check and measure."""
