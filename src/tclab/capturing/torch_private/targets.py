"""The private names that a target relies on, in tclab.capturing.target and beside this module."""

from __future__ import annotations

from tclab.capturing.torch_private.private import Private

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
    Private("triton.runtime", "driver.set_active", "the driver Triton asks", "triton 3.6 3.7 3.9"),
)
