"""The private names that a target relies on, in tclab.capturing.target and beside this module."""

from __future__ import annotations

from tclab.capturing.torch_private.private import Private

_ALL = "torch 2.11 2.12 2.13 2.14 2.15"

NAMES = (
    Private("torch._guards", "TracingContext.extract_stack", "the line of a refusal"),
    Private("torch.autograd", "_engine_run_backward", "the engine behind autograd.grad"),
    Private("torch._dynamo.device_interface", "device_interfaces", "what Inductor asks of a GPU"),
    Private("torch._dynamo.device_interface", "caching_worker_device_properties", "cached answers"),
    Private("torch._dynamo.output_graph", "SubgraphTracer.create_proxy", "factory functions"),
    Private("torch._subclasses.fake_tensor", "FakeTensorMode.from_tensor", "inputs become fake"),
    Private("torch._subclasses.fake_tensor", "FakeTensorMode.avoid_device_init", "no CUDA start"),
    Private("torch._subclasses.fake_tensor", "FakeTensorMode.dispatch", "constants"),
    Private("torch._inductor.graph", "GraphLowering.get_attr", "constants"),
    Private("torch._inductor.graph", "GraphLowering.run", "operators are looked at"),
    Private("torch._inductor.fx_passes.joint_graph", "UniformValueConstantFolder.run", "folding"),
    Private("torch._inductor.fx_passes.pad_mm", "_should_pad", "padding is timed"),
    Private("torch._inductor.fx_passes.fuse_attention", "_scaled_dot_product_attention", "fusing"),
    Private("torch._inductor.runtime.benchmarking", "Benchmarker", "nothing is timed"),
    Private("torch._subclasses.fake_tensor", "init_gpu_context", "no CUDA start"),
    Private("torch._subclasses.meta_utils", "MetaTensorDescriber.describe_tensor", "their device"),
    Private("torch.utils._device", "_device_constructors", "functions that make tensors"),
    Private("torch._inductor.codecache", "PyCodeCache.load_by_key_path", "stop before running"),
    Private("torch._inductor.codecache", "PyCodeCache.write", "a kernel's file"),
    Private("torch._inductor.runtime.autotune_cache", "AutotuneCache.create", "what was timed"),
    Private("torch._inductor.runtime.compile_tasks", "_reload_python_module", "a new autotuner"),
    Private("torch._inductor.pattern_matcher", "init_once_fakemode", "lazily made patterns"),
    Private("torch._inductor.pattern_matcher", "PatternMatcherPass", "lazily made patterns"),
    Private("torch._inductor.runtime.hints", "DeviceProperties.create", "cached properties"),
    Private("torch._subclasses.fake_tensor", "FakeTensorMode.cache_clear", "another target", _ALL),
    Private("torch._C", "_get_sdp_priority_order", "the order of attention's kernels", _ALL),
    Private("torch._C", "_set_sdp_priority_order", "the order of attention's kernels", _ALL),
    Private("torch._C", "_can_use_flash_attention", "what PyTorch's Python asks", _ALL),
    Private("torch._C", "_can_use_mem_efficient_attention", "what PyTorch's Python asks", _ALL),
    Private("torch._C", "_can_use_cudnn_attention", "what PyTorch's Python asks", _ALL),
    Private("torch._C", "_dispatch_has_computed_kernel_for_dispatch_key", "runs here?", _ALL),
    Private("torch.nn.attention", "_sdpa_kernel", "the GPU's kernels only", _ALL),
    Private("torch.nn.attention", "_sdpa_kernel_variadic", "the GPU's kernels only", _ALL),
    Private("torch", "ops.aten.scaled_dot_product_attention.default._op_dk", "its own C++", _ALL),
    Private("torch", "_fused_sdp_choice", "PyTorch's own choice of attention", _ALL),
    Private("triton.runtime", "driver.set_active", "the driver Triton asks", "triton 3.6 3.7 3.9"),
)
