"""`torch.fx.experimental`: what libraries import from it."""
