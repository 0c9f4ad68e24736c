"""Contract suites and a simulated device. They are part of the wheel, for tests of plug-ins."""
