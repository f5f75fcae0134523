"""List the private names that `tclab.capturing.runnable` uses."""

from __future__ import annotations

from tclab.capturing.torch_private.private import Private

_SHAPES = "torch.fx.experimental.symbolic_shapes"

NAMES = (
    # compiling
    Private("torch._inductor.compile_fx", "compile_fx_inner", "where Inductor begins"),
    Private("torch._guards", "TracingContext", "the fake mode of the compile"),
    Private("torch._guards", "tracing", "the fake mode of the compile"),
    Private(
        "torch._functorch._aot_autograd.descriptors",
        "SavedForBackwardsAOTOutput",
        "what is saved is rounded",
    ),
    Private("torch._subclasses.fake_tensor", "FakeTensorMode", "inputs without values"),
    Private("torch._inductor", "config.get_config_copy", "which settings there are"),
    Private("torch._inductor", "config.patch", "the job's settings"),
    Private("torch._dynamo.repro.after_aot", "setup_fake_process_groups", "the job's groups"),
    Private("torch._inductor.select_algorithm", "get_algorithm_selector_cache", "its candidates"),
    Private("torch._inductor.select_algorithm", "TritonTemplateCaller", "a template's candidate"),
    Private("torch._inductor.select_algorithm", "ExternKernelCaller", "a library's candidate"),
    Private("torch._inductor.scheduler", "Scheduler.can_fuse", "what the job fused"),
    Private("torch._inductor.virtualized", "V.graph", "the node that is lowered"),
    # user_kernels
    Private(
        "torch._higher_order_ops.triton_kernel_wrap",
        "kernel_side_table.id_to_kernel",
        "a user's Triton kernels",
    ),
    # sizes
    Private(_SHAPES, "ShapeEnv.create_symbol", "a symbol with the name in the trace"),
    Private(_SHAPES, "ShapeEnv._generate_unique_id", "a symbol with the name in the trace"),
    Private(_SHAPES, "ShapeEnv.create_symintnode", "a size with this symbol"),
    Private(_SHAPES, "DimDynamic.DYNAMIC", "a size that is a symbol"),
    Private("torch._dynamo.source", "ConstantSource", "a symbol without an input"),
    Private("torch.utils._sympy.value_ranges", "ValueRanges", "a symbol's range"),
    Private("torch.utils._sympy.numbers", "int_oo", "a range without an end"),
    # inputs
    Private("torch.fx.passes.fake_tensor_prop", "FakeTensorProp", "shapes in graphs inside"),
    Private("torch.utils._dtype_abbrs", "dtype_abbrs", "the type of an input inside"),
    # building
    Private("torch._ops", "OpOverload", "operators are looked up"),
)
