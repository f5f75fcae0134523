"""List the private names that the warm process uses, from which snippets are forked: the modules
that it imports in advance, and the state that it restores after its first compile.
tclab.site.engine.worker.warm uses them; its module shadow uses those that put Inductor in place of
another backend.
"""

from __future__ import annotations

from tclab.capturing.torch_private.private import Private

#: Modules that a first compile imports, which takes seconds.
MODULES = (
    "torch._dynamo",
    "torch._inductor.compile_fx",
    "torch._inductor.lowering",
    "torch._inductor.graph",
    "torch._inductor.scheduler",
    "torch._inductor.codecache",
    "torch._inductor.async_compile",
    "torch._inductor.codegen.cpp",
    "torch._inductor.codegen.triton",
    "torch._inductor.codegen.wrapper",
    "torch._inductor.fx_passes.joint_graph",
    "torch._inductor.fx_passes.post_grad",
    "torch._inductor.select_algorithm",
    "torch._inductor.kernel.mm",
    "torch._functorch.aot_autograd",
    "torch._functorch.partitioners",
    "torch.fx.experimental.symbolic_shapes",
    "torch._higher_order_ops",
    "torch._functorch._activation_checkpointing.remat_using_tags_for_fwd_loss_bwd_graph_pass",
)

_RESTARTS = "counts from the start again"

NAMES = (
    *(
        Private(package, name, "imported ahead")
        for package, _, name in (module.rpartition(".") for module in MODULES)
    ),
    Private("torch._inductor", "compile", "Inductor in the place of a snippet's own backend"),
    Private("torch._dynamo", "reset", "forgets the compile that warmed"),
    Private("torch._inductor.config", "patch", "one thread"),
    Private("torch._inductor.config", "compile_threads", "one thread"),
    Private("torch._inductor.runtime.triton_compat", "HAS_TRITON", "whether there is a digest"),
    Private("torch._inductor.runtime.triton_compat", "triton_key", "the digest of Triton, ahead"),
    Private("torch._dynamo.utils", "counters", _RESTARTS),
    Private("torch._inductor.metrics", "reset", _RESTARTS),
    Private("torch.fx.graph_module", "_loader.next_id", _RESTARTS),
    Private("torch._dynamo.logging", "_step_counter", "goes on: its numbers are given for good"),
)
