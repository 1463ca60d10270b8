"""`torch.onnx.errors`: what goes wrong while a model is exported."""

__all__ = ["OnnxExporterError", "OnnxExporterWarning", "UnsupportedOperatorError"]


class OnnxExporterWarning(UserWarning):
    """What an exporter wants to be known."""


class OnnxExporterError(RuntimeError):
    """Any error of `torch.onnx`."""


class UnsupportedOperatorError(OnnxExporterError):
    """An operation has no form in ONNX here."""


OnnxExporterError.__module__ = "torch.onnx"
