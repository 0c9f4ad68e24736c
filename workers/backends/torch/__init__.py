"""PyTorch's Inductor ahead of time: AOTInductor packages of exported programs."""
