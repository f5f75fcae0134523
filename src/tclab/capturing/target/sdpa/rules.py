"""The rules by name: each one condition, with the C++ function it follows and that one's file."""

from __future__ import annotations

from tclab.capturing.target.sdpa import checks, checks_cudnn
from tclab.capturing.target.sdpa.checks import Check
from tclab.capturing.target.sdpa.rule import HEADER, SOURCE, Rule


def _off(backend: str, function: str, file: str) -> Rule:
    return Rule("not switched off", function, checks.enabled(backend), file)


def _strides(check: Check) -> Rule:
    function = "check_last_dim_stride_equals_1_dense"
    return Rule("a last dimension without gaps", function, check, HEADER)


def heads(*, gqa: bool, same_kv: bool = True, mqa: bool = False, early: bool = True) -> Rule:
    """Equal batches and heads; `gqa` allows grouped queries, `mqa` one head of keys for all."""
    check = checks.batch_size_and_num_heads(gqa=gqa, same_kv=same_kv, mqa=mqa, early=early)
    return Rule("equal batches and heads", "check_batch_size_and_num_heads_dense", check, HEADER)


SHAPES = Rule("four dimensions", "check_tensor_shapes", checks.tensor_shapes, HEADER)
LENGTHS = Rule(
    "no empty sequence",
    "check_nonzero_sequence_lengths_dense",
    checks.nonzero_sequence_lengths,
    HEADER,
)
STRIDES = _strides(checks.last_dim_stride_equals_1(ignore_singleton=False))
STRIDES_IF_WIDE = _strides(checks.last_dim_stride_equals_1(ignore_singleton=True))
MASK_FITS = Rule("a mask that fits", "check_attn_mask_shape", checks.attn_mask_shape, HEADER)
LOW_PRECISION = Rule("16-bit dtypes", "check_dtypes_low_precision", checks.dtypes_low_precision)

# ------------------------------------------------------------------------------ flash

FLASH_ON = _off("flash", "check_runtime_disabled_flash", HEADER)
NO_MASK = Rule("no mask", "check_for_attn_mask", checks.for_attn_mask, HEADER)
FLASH_HEAD_SIZE = Rule("head size to 256", "check_head_dim_size_flash", checks.head_dim_size_flash)
FLASH_HARDWARE = Rule(
    "sm80 to sm121",
    "check_flash_attention_hardware_support",
    checks.flash_attention_hardware_support,
)
FLASH_TRAINING = Rule(
    "training with a head size over 192",
    "check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120",
    checks.requires_grad_and_head_dim_gt192(early=True),
)
FLASH_TRAINING_2_15 = Rule(
    "training with a head size over 192",
    "check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120_121",
    checks.requires_grad_and_head_dim_gt192(early=False),
)
FLASH_CAUSAL = Rule(
    "causal: as many queries as keys",
    "check_flash_causal_non_square_seqlens",
    checks.flash_causal_non_square_seqlens,
)
FLASH_DTYPES = Rule("16-bit dtypes", "check_dtypes_flash_attention", checks.dtypes_flash_attention)
FLASH_BATCH = Rule(
    "batch and heads to 65535", "check_flash_attention_grid_size", checks.flash_attention_grid_size
)

# ------------------------------------------------------------------------------ memory-efficient

EFFICIENT_ON = _off("efficient", "check_runtime_disabled_mem_efficient", HEADER)
EFFICIENT_HARDWARE = Rule(
    "sm50 to sm121", "check_mem_efficient_hardware_support", checks.mem_efficient_hardware_support
)
EFFICIENT_HEAD_SIZE = Rule(
    "aligned head sizes", "check_head_dim_size_mem_efficient", checks.head_dim_size_mem_efficient
)
EFFICIENT_OFFSET = Rule(
    "aligned beginnings",
    "check_data_ptr_alignment_mem_efficient",
    checks.data_ptr_alignment_mem_efficient,
)
EFFICIENT_DTYPES = Rule(
    "16- and 32-bit dtypes", "can_use_mem_efficient_attention", checks.dtypes_mem_efficient
)

# ------------------------------------------------------------------------------ cuDNN

CUDNN_THERE = Rule("cuDNN 9", "can_use_cudnn_attention", checks_cudnn.present)
CUDNN_ON = _off("cudnn", "check_runtime_disabled_cudnn", SOURCE)
CUDNN_DETERMINISTIC = Rule(
    "not deterministic", "check_cudnn_deterministic", checks_cudnn.deterministic
)
CUDNN_HARDWARE = Rule(
    "sm80 to sm121", "check_cudnn_hardware_support", checks_cudnn.hardware_support
)
CUDNN_DROPOUT = Rule("dropout in sixteenths", "check_cudnn_dropout", checks_cudnn.dropout)
CUDNN_BATCH = Rule(
    "batch and heads to 65535", "check_cudnn_tensor_shapes", checks_cudnn.batch_and_heads
)
CUDNN_SIZES = Rule("head sizes", "check_cudnn_tensor_shapes", checks_cudnn.head_sizes)
CUDNN_SIZES_256 = Rule("head sizes", "check_cudnn_tensor_shapes", checks_cudnn.head_sizes_256)
CUDNN_TRAINING = Rule(
    "training with a head size over 128",
    "check_cudnn_d256_bprop_head_dim",
    checks_cudnn.head_sizes_in_training,
)
CUDNN_DECODE = Rule("decoding", "is_cudnn_attention_decode_disabled", checks_cudnn.decode)
CUDNN_KEYS = Rule(
    "training with 64 keys modulo 128", "check_cudnn_tensor_shapes", checks_cudnn.keys_64_mod_128
)
CUDNN_POSITIONS = Rule(
    "more than one position", "check_cudnn_tensor_shapes", checks_cudnn.positions
)
