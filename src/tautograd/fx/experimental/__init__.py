"""`torch.fx.experimental`: what libraries ask of it at their import."""
