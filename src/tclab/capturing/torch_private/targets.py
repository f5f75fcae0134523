"""List the private names that `tclab.capturing.target` uses."""

from __future__ import annotations

from tclab.capturing.torch_private.private import TRITON, Private

_FAKE, _CODECACHE = "torch._subclasses.fake_tensor", "torch._inductor.codecache"
_DEVICES, _PATTERNS = "torch._dynamo.device_interface", "torch._inductor.pattern_matcher"

#: Importing some of these modules needs Triton.
NAMES = (
    # traced_lines, refusals
    Private("torch._guards", "TracingContext.extract_stack", "the line of a refusal"),
    # stand_in, device
    Private("torch.autograd", "_engine_run_backward", "the engine behind autograd.grad"),
    Private("torch.autograd.graph", "_engine_run_backward", "the engine for other tensors"),
    Private("torch._dynamo", "disable", "the engine is not compiled with the user's code"),
    Private(_DEVICES, "device_interfaces", "what Inductor asks of a GPU"),
    Private(_DEVICES, "get_interface_for_device", "what Inductor asks of a GPU"),
    Private(_DEVICES, "caching_worker_device_properties", "cached answers"),
    Private(_DEVICES, "caching_worker_current_devices", "cached answers"),
    Private(_DEVICES, "CudaInterface.Worker", "what Inductor asks of a GPU"),
    Private(_FAKE, "FakeTensor", "inputs as they were before a graph writes to them"),
    Private(_FAKE, "FakeTensorMode.avoid_device_init", "no CUDA start"),
    Private(_FAKE, "init_gpu_context", "no CUDA start"),
    Private("torch.cuda.jiterator", "_JittedFunction.__call__", "refused: CUDA compiles it"),
    Private("torch._C", "_ensureCUDADeviceGuardSet", "a guard for CUDA devices"),
    Private("torch._C", "_dispatch_has_kernel_for_dispatch_key", "operators whole on CUDA"),
    Private("torch.utils", "_triton", "cached answers"),
    Private("torch._inductor.runtime.hints", "DeviceProperties.create", "cached properties"),
    Private(_CODECACHE, "CacheBase.get_system", "cached answers"),
    Private(_CODECACHE, "CacheBase.get_local_cache_path", "cached answers"),
    Private("torch._inductor", "cpp_builder", "its cached answers are of no device"),
    Private("triton.backends", "backends", "the driver Triton asks", TRITON),
    Private("triton.backends.compiler", "GPUTarget", "the driver Triton asks", TRITON),
    Private("triton.backends.nvidia.driver", "ty_to_cpp", "types of a launcher", TRITON),
    Private("triton.backends.amd.driver", "ty_to_cpp", "types of a launcher", TRITON),
    Private("triton.runtime", "driver._active", "the driver Triton asks", TRITON),
    Private("triton.runtime", "driver.set_active", "the driver Triton asks", TRITON),
    # tracing, constants
    Private("torch._dynamo.output_graph", "SubgraphTracer.create_proxy", "factory functions"),
    Private(_FAKE, "FakeTensorMode.from_tensor", "inputs become fake"),
    Private(
        "torch._dynamo.variables.builder", "wrap_to_fake_tensor_and_record", "numbers as tensors"
    ),
    Private(_FAKE, "run_fallback_kernel", "operators without a meta kernel"),
    Private("torch._subclasses.fake_impls", "run_fallback_kernel", "the same, by its other name"),
    Private("torch.utils._mode_utils", "no_dispatch", "the same, run on the CPU"),
    Private("torch.utils._pytree", "tree_unflatten", "the same, its arguments"),
    Private(_FAKE, "FakeTensorMode.dispatch", "constants"),
    Private("torch._subclasses.meta_utils", "MetaTensorDescriber.describe_tensor", "their device"),
    Private("torch.utils._device", "_device_constructors", "functions that make tensors"),
    Private("torch.utils._python_dispatch", "TorchDispatchMode", "folding"),
    Private("torch.utils._python_dispatch", "_disable_current_modes", "constants"),
    Private("torch.fx.experimental.proxy_tensor", "unset_fake_temporarily", "numbers' values"),
    Private("torch._inductor.graph", "GraphLowering.get_attr", "constants"),
    Private("torch._inductor.fx_passes.joint_graph", "UniformValueConstantFolder.run", "folding"),
    # choices, attention
    Private("torch._inductor.graph", "GraphLowering.run", "operators are looked at"),
    Private("torch._ops", "OpOverload", "operators are looked at"),
    Private("torch._inductor.fx_passes.pad_mm", "_should_pad", "padding's rule"),
    Private("torch._inductor.fx_passes.pad_mm", "get_cached_should_pad", "where it would time"),
    Private("torch._utils_internal", "max_clock_rate", "padding's rule asks for it"),
    Private("torch._guards", "TracingContext.try_get", "a second compile of a graph"),
    Private("torch._inductor.fx_passes.fuse_attention", "_scaled_dot_product_attention", "fusing"),
    Private("torch._inductor.runtime.benchmarking", "Benchmarker", "nothing is timed"),
    Private("torch._C", "_select_conv_backend", "which kernel a convolution takes"),
    Private("torch._C", "_conv_determine_backend_memory_format", "the layout of a convolution"),
    Private("torch._prims_common", "suggest_memory_format", "the layout of a convolution"),
    Private(_FAKE, "FakeTensorMode.cache_clear", "another target"),
    Private("torch._C", "_get_sdp_priority_order", "the order of attention's kernels"),
    Private("torch._C", "_set_sdp_priority_order", "the order of attention's kernels"),
    Private("torch._C", "_can_use_flash_attention", "what PyTorch's Python asks"),
    Private("torch._C", "_can_use_mem_efficient_attention", "what PyTorch's Python asks"),
    Private("torch._C", "_can_use_cudnn_attention", "what PyTorch's Python asks"),
    Private("torch._C", "_dispatch_has_computed_kernel_for_dispatch_key", "runs here?"),
    Private("torch._C", "DispatchKey.CompositeImplicitAutograd", "attention is decomposed"),
    Private("torch._C", "DispatchKey.CUDA", "PyTorch's own choice of attention"),
    Private("torch._C", "DispatchKeySet", "PyTorch's own choice of attention"),
    Private("torch._ops", "OpOverloadPacket", "operators are looked at"),
    Private("torch.ops", "aten._fused_sdp_choice.default", "PyTorch's own choice of attention"),
    Private(
        "torch.ops", "aten.scaled_dot_product_attention.default._dispatch_cache", "its own C++"
    ),
    Private("torch.nn.attention", "_sdpa_kernel", "the GPU's kernels only"),
    Private("torch.nn.attention", "_sdpa_kernel_variadic", "the GPU's kernels only"),
    Private("torch", "ops.aten.scaled_dot_product_attention.default._op_dk", "its own C++"),
    Private("torch", "_fused_sdp_choice", "PyTorch's own choice of attention"),
    # inductor, patterns
    Private("torch._inductor.compile_fx", "compile_fx", "compiles a graph"),
    Private("torch._inductor", "list_mode_options", "modes of torch.compile"),
    Private("torch._functorch.config", "force_non_lazy_backward_lowering", "a backward at once"),
    Private("torch._inductor.config", "compile_threads", "no worker processes"),
    Private("torch.utils._pytree", "tree_map_only", "tensors within arguments"),
    Private("torch._functorch._aot_autograd", "runtime_wrappers", "marks of dynamic results"),
    Private(_CODECACHE, "PyCodeCache.load_by_key_path", "stop before running"),
    Private(_CODECACHE, "PyCodeCache.load", "a template's kernel"),
    Private(_PATTERNS, "init_once_fakemode", "lazily made patterns"),
    Private(_PATTERNS, "check_and_add_duplicate_pattern", "lazily made patterns"),
    Private(_PATTERNS, "PatternMatcherPass", "lazily made patterns"),
)

#: Names that exist only if this PyTorch was built with cuDNN.
WITH_CUDNN = (
    Private("torch._C", "_cudnn.getRuntimeVersion", "which cuDNN a device was asked with"),
)
