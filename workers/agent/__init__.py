"""The agent of a device: does the jobs of a hub that it reaches over the network or by files."""
