"""What moves data between processes: MPI for CPU memory, NCCL for NVIDIA GPUs.

A transport handles flat, contiguous arrays and knows nothing of tensors. Each of its calls starts something and
returns a request, whose `test()` says whether it is done and never blocks.
"""
