"""Contract suites and a simulated device, shipped so that additions can be tested like our own."""
