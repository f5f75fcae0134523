"""The table: for each PyTorch, each backend's rules in the order of its source.

The lists follow ``can_use_cudnn_attention``, ``can_use_flash_attention`` and
``can_use_mem_efficient_attention`` of ``cuda/sdp_utils.cpp``, at the commit of the release.
"""

from __future__ import annotations

from tclab.capturing.target.sdpa import checks, checks_cudnn
from tclab.capturing.target.sdpa.rule import HEADER, Rule, Version

_SHAPES = Rule("four dimensions", "check_tensor_shapes", checks.tensor_shapes, HEADER)
_LENGTHS = Rule(
    "no empty sequence",
    "check_nonzero_sequence_lengths_dense",
    checks.nonzero_sequence_lengths,
    HEADER,
)
_LOW = Rule("16-bit dtypes", "check_dtypes_low_precision", checks.dtypes_low_precision)


def _strides(*, ignore_singleton: bool) -> Rule:
    check = checks.last_dim_stride_equals_1(ignore_singleton=ignore_singleton)
    return Rule(
        "a last dimension without gaps", "check_last_dim_stride_equals_1_dense", check, HEADER
    )


def _heads(*, gqa: bool, same_kv: bool = True, mqa: bool = False) -> Rule:
    check = checks.batch_size_and_num_heads(gqa=gqa, same_kv=same_kv, mqa=mqa)
    return Rule("equal batches and heads", "check_batch_size_and_num_heads_dense", check, HEADER)


def _off(backend: str, function: str, file: str = HEADER) -> Rule:
    return Rule("not switched off", function, checks.enabled(backend), file)


_CUDNN = (
    Rule("cuDNN 9", "can_use_cudnn_attention", checks_cudnn.present),
    Rule("not switched off", "check_runtime_disabled_cudnn", checks.enabled("cudnn")),
    _SHAPES,
    Rule("not deterministic", "check_cudnn_deterministic", checks_cudnn.deterministic),
    _LOW,
    Rule("a mask that fits", "check_attn_mask_shape", checks.attn_mask_shape, HEADER),
    Rule("sm80 to sm121", "check_cudnn_hardware_support", checks_cudnn.hardware_support),
    _LENGTHS,
    _strides(ignore_singleton=True),
    _heads(gqa=True, same_kv=False),
    Rule("head size, lengths", "check_cudnn_tensor_shapes", checks_cudnn.tensor_shapes),
)

_FLASH = (
    _off("flash", "check_runtime_disabled_flash"),
    _SHAPES,
    Rule("no mask", "check_for_attn_mask", checks.for_attn_mask, HEADER),
    Rule("head size to 256", "check_head_dim_size_flash", checks.head_dim_size_flash),
    Rule(
        "sm80 to sm121",
        "check_flash_attention_hardware_support",
        checks.flash_attention_hardware_support,
    ),
    Rule(
        "training with a head size over 192",
        "check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120",
        checks.requires_grad_and_head_dim_gt192,
    ),
    Rule(
        "causal: as many queries as keys",
        "check_flash_causal_non_square_seqlens",
        checks.flash_causal_non_square_seqlens,
    ),
    Rule("16-bit dtypes", "check_dtypes_flash_attention", checks.dtypes_low_precision),
    _heads(gqa=True),
    _LENGTHS,
    _strides(ignore_singleton=True),
)

_EFFICIENT = (
    _off("efficient", "check_runtime_disabled_mem_efficient"),
    Rule(
        "sm50 to sm121",
        "check_mem_efficient_hardware_support",
        checks.mem_efficient_hardware_support,
    ),
    _SHAPES,
    Rule(
        "aligned head sizes",
        "check_head_dim_size_mem_efficient",
        checks.head_dim_size_mem_efficient,
    ),
    _LENGTHS,
    _strides(ignore_singleton=False),
    _heads(gqa=False),
    Rule("16- and 32-bit dtypes", "can_use_mem_efficient_attention", checks.dtypes_mem_efficient),
)

V2_11 = Version(
    (2, 11),
    "70d99e998b4955e0049d13a98d77ae1b14db1f45",
    cudnn=91900,
    prefers_cudnn=checks_cudnn.prefers_cudnn,
    rules={"cudnn": _CUDNN, "flash": _FLASH, "efficient": _EFFICIENT},
)

VERSIONS = {version.torch: version for version in (V2_11,)}
