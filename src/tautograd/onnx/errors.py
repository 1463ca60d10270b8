"""`torch.onnx.errors`: errors of an export."""

__all__ = ["OnnxExporterError", "OnnxExporterWarning", "UnsupportedOperatorError"]


class OnnxExporterWarning(UserWarning):
    """A warning of the exporter."""


class OnnxExporterError(RuntimeError):
    """Any error of `torch.onnx`."""


class UnsupportedOperatorError(OnnxExporterError):
    """An operation that cannot be expressed in ONNX here."""


OnnxExporterError.__module__ = "torch.onnx"
