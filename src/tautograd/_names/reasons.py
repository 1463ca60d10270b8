"""Why a name of PyTorch's is not here, and what to use instead: said in errors, by `--check` and in the docs.

A row holds for a path and all below it, the longest one that fits; a star at its end makes it a beginning of
names. What no row fits is simply not here yet.
"""

from __future__ import annotations

import functools

from .table import under_torch

# (paths, why it is not here, what to use instead)
_ROWS: tuple[tuple[str, str, str], ...] = (
    (("torch.ao.* torch.quantization.* torch.nn.quantized torch.nn.qat torch.nn.intrinsic torch.nn.quantizable "
     "torch.quantize_* torch.quantized_* torch.q_* torch.fake_quantize_* torch.qint8 torch.qint32 torch.quint8 "
     "torch.quint4x2 torch.quint2x4 torch.qscheme torch.per_* torch.dequantize torch.int_repr torch.Q*Storage "
     "torch.empty_quantized torch.choose_qparams_optimized torch.fused_moving_avg_obs_fake_quant torch.Tensor.q_* "
     "torch.Tensor.qscheme torch.Tensor.dequantize torch.Tensor.int_repr"),
     "for quantized tensors, which are not built yet", ""),
    ("torch.nested torch.jagged torch.Tensor.to_padded_tensor", "for nested tensors, which are not built yet",
     "torch.nn.utils.rnn.pad_sequence"),
    (("torch.sparse_bsr_tensor torch.sparse_bsc_tensor torch.Tensor.to_sparse_bsr torch.Tensor.to_sparse_bsc "
     "torch.sparse.semi_structured torch.sparse.SparseSemiStructured* torch.sparse.to_sparse_semi_structured"),
     "for sparse tensors in blocks", "torch.sparse_csr_tensor"),
    (("torch.bits* torch.uint1 torch.uint2 torch.uint3 torch.uint4 torch.uint5 torch.uint6 torch.uint7 torch.int1 "
     "torch.int2 torch.int3 torch.int4 torch.int5 torch.int6 torch.int7 torch.bit torch.float4_e2m1fn_x2"),
     "a dtype that NumPy does not have", ""),
    ("torch.backends.xeon torch.backends.xnnpack torch.backends.python_native",
     "for kernels that only PyTorch has", ""),
    ("torch.classes torch.contrib torch.nativert torch.numa", "of PyTorch's compiled core", ""),
    ("torch.cond torch.while_loop", "for programs that are traced, not run", "if and while"),
    ("torch.cpp torch.nn.cpp", "modules written in C++", ""),
    (("torch.cuda.gds torch.cuda.green_contexts torch.cuda.jiterator torch.cuda.nccl torch.cuda.comm "
     "torch.cuda.tunable torch.cuda.GreenContext torch.cuda.MemPool torch.cuda.use_mem_pool"),
     "of libraries of NVIDIA's that CuPy does not reach", ""),
    ("torch.cudnn_* torch.miopen_* torch.mkldnn_* torch.fbgemm_*",
     "one library's kernel, by its own name", "the operation itself, such as torch.conv2d"),
    ("torch.export torch.fx.passes.* torch.fx.experimental.*",
     "for whole programs as graphs of PyTorch's own operators", "torch.fx.symbolic_trace, torch.compile"),
    (("torch.eig torch.symeig torch.lstsq torch.solve torch.matrix_rank torch.Tensor.eig torch.Tensor.symeig "
     "torch.Tensor.lstsq torch.Tensor.solve"),
     "removed from PyTorch, where it only raises", "torch.linalg"),
    ("torch.fork torch.wait", "for TorchScript's own threads", "concurrent.futures"),
    (("torch.jit.annotations.* torch.jit.frontend torch.jit.generate_bytecode torch.jit.mobile "
     "torch.jit.quantized torch.jit.supported_ops torch.jit.unsupported_tensor_ops torch.jit.export_opnames"),
     "of the TorchScript compiler", ""),
    ("torch.monitor", "PyTorch's own telemetry", "torch.utils.tensorboard"),
    ("torch.mps torch.backends.mps.*", "for Apple's GPUs", ""),
    ("torch.mtia torch.Tensor.mtia", "for Meta's accelerators", ""),
    ("torch.xpu torch.Tensor.xpu torch.version.xpu", "for Intel's GPUs", ""),
    ("torch.Tensor.ipu torch.get_autocast_ipu_dtype torch.*_autocast_xla* torch.*_autocast_ipu*",
     "for accelerators that PyTorch has given up", ""),
    (("torch.onnx.ops torch.onnx.utils torch.onnx.verification torch.onnx.testing torch.onnx.ExportableModule "
     "torch.onnx.InputObserver torch.onnx.*"),
     "of PyTorch's own exporters", "torch.onnx.export, and torch.onnx.export(…, verify=True)"),
    ("torch.package", "for archives of Python code that run when they are opened", "torch.save"),
    ("torch.sym_*",
     "for shapes of programs that are traced", "int, float, bool"),
    ("torch.utils.bundled_inputs torch.utils.mobile_optimizer torch.utils.model_dump torch.LiteScriptModule",
     "for PyTorch's format for phones", ""),
    ("torch.utils.cpp_extension torch.utils.hipify torch.utils.cpp_backtrace torch.utils.file_baton",
     "a compiler for C++ extensions of PyTorch", "torch.library.custom_op, torch.autograd.Function"),
    ("torch.utils.viz torch.utils.data.datapipes torch.utils.show_pickle", "a tool of PyTorch's own developers", ""),
)  # fmt: skip
# Classes of the TorchScript compiler that PyTorch exports from its compiled core.
_TORCHSCRIPT = (
    "AliasDb AnyType Argument ArgumentSpec AwaitType Block BoolType BufferDict CallStack Capsule ClassType Code "
    "CompilationUnit CompleteArgumentSpec ComplexType ConcreteModuleType ConcreteModuleTypeBuilder DeepCopyMemoTable "
    "DeserializationStorageContext DeviceObjType DictType EnumType ErrorReport ExecutionPlan FileCheck FloatType "
    "FunctionSchema FutureType Gradient Graph GraphExecutorState IODescriptor InferredType IntType InterfaceType "
    "JITException ListType LockingLogger LoggerBase ModuleDict Node NoneType NoopLogger NumberType OperatorInfo "
    "OptionalType ParameterDict PyObjectType PyTorchFileWriter RRefType ScriptClass ScriptClassFunction ScriptDict "
    "ScriptDictIterator ScriptDictKeyIterator ScriptList ScriptListIterator ScriptMethod ScriptModuleSerializer "
    "ScriptObject ScriptObjectProperty SerializationStorageContext StaticModule StreamObjType StringType SymBoolType "
    "SymIntType TensorType TracingState TupleType Type UnionType Use Value merge_type_from_type_comment parse_ir "
    "parse_schema parse_type_comment unify_type_list import_ir_module import_ir_module_from_buffer"
)


@functools.cache
def _by_path() -> tuple[dict[str, tuple[str, str]], list[tuple[str, tuple[str, str]]]]:
    whole: dict[str, tuple[str, str]] = {}
    beginnings: list[tuple[str, tuple[str, str]]] = []
    for paths, why, instead in _ROWS:
        for path in paths.split():
            if "*" in path:
                beginnings.append((path, (why, instead)))
            else:
                whole[path] = why, instead
    whole |= {
        f"torch.{n}": ("a class of the TorchScript compiler", "") for n in _TORCHSCRIPT.split()
    }
    return whole, beginnings


def reason(path: str) -> tuple[str, str]:
    """Why a path is not here, and what to use instead; two empty texts where nobody has said.

    >>> reason("torch.mtia.synchronize")
    ("for Meta's accelerators", '')
    """
    from fnmatch import fnmatchcase

    path = under_torch(path)
    whole, beginnings = _by_path()
    steps = path.split(".")
    for length in range(len(steps), 1, -1):
        found = whole.get(".".join(steps[:length]))
        if found is not None:
            return found
    for pattern, said in beginnings:
        if fnmatchcase(path, pattern):
            return said
    return "", ""
