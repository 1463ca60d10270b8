"""What carries numbers between processes: MPI for memory of the CPU, NCCL for that of NVIDIA's GPUs.

A transport knows flat, contiguous arrays and nothing of tensors. Each of its calls starts something and gives
a request, whose `test()` says whether it is done and never waits.
"""
