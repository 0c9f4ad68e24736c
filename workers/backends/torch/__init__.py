"""torch.compile's compiler ahead of time: AOTInductor packages of exported programs."""
