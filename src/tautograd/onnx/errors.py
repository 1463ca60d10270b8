"""`torch.onnx.errors`: what goes wrong with operations that are described for an exporter."""

__all__ = ["OnnxExporterError"]


class OnnxExporterError(RuntimeError):
    """Any error of `torch.onnx`."""


OnnxExporterError.__module__ = "torch.onnx"
