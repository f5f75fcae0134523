"""List the rules of each backend for each PyTorch, in the order of its source.

The lists follow ``can_use_cudnn_attention``, ``can_use_flash_attention`` and
``can_use_mem_efficient_attention`` of ``cuda/sdp_utils.cpp``, at the commit of the release. The
oldest list is complete; each later list states its changes to the list before it.
"""

from __future__ import annotations

from tclab import model
from tclab.capturing.target.sdpa import cudnn, efficient, flash, shared
from tclab.capturing.target.sdpa.rule import AttentionRules, Rules
from tclab.capturing.target.sdpa.symbolic import FROM_2_15, UNTIL_2_14

_CUDNN_2_11 = Rules(
    (
        cudnn.cudnn_9,
        cudnn.not_switched_off,
        shared.four_dimensions,
        cudnn.not_deterministic,
        cudnn.low_precision,
        shared.mask_fits,
        cudnn.hardware,
        shared.nonzero_lengths,
        shared.last_stride_if_wide,
        shared.free_heads,
        cudnn.head_sizes,
        cudnn.positions,
    )
)
_CUDNN_2_12 = _CUDNN_2_11.insert_after(cudnn.hardware, cudnn.dropout)
_CUDNN_2_13 = _CUDNN_2_12.insert_after(shared.free_heads, cudnn.batch_and_heads)
_CUDNN_2_14 = (
    _CUDNN_2_13.replace(shared.free_heads, shared.free_or_one_head)
    .insert_after(cudnn.batch_and_heads, cudnn.decode)
    .replace(cudnn.head_sizes, cudnn.head_sizes_256)
    .insert_after(cudnn.positions, cudnn.training)
)
_CUDNN_2_15 = _CUDNN_2_14.replace(
    shared.free_or_one_head, shared.free_or_one_head_2_15
).insert_after(cudnn.positions, cudnn.keys_64_mod_128)

_FLASH_2_11 = Rules(
    (
        flash.not_switched_off,
        shared.four_dimensions,
        flash.no_mask,
        flash.head_size,
        flash.hardware,
        flash.training,
        flash.causal,
        flash.dtypes,
        shared.grouped_heads,
        shared.nonzero_lengths,
        shared.last_stride_if_wide,
    )
)
_FLASH_2_14 = _FLASH_2_11.replace(shared.grouped_heads, shared.grouped_or_one_head)
_FLASH_2_15 = (
    _FLASH_2_14.replace(flash.training, flash.training_2_15)
    .replace(shared.grouped_or_one_head, shared.grouped_or_one_head_2_15)
    .insert_after(shared.last_stride_if_wide, flash.grid_size)
)

_EFFICIENT_2_11 = Rules(
    (
        efficient.not_switched_off,
        efficient.hardware,
        shared.four_dimensions,
        efficient.head_sizes,
        shared.nonzero_lengths,
        shared.last_stride,
        shared.equal_heads,
        efficient.dtypes,
    )
)
_EFFICIENT_2_13 = _EFFICIENT_2_11.insert_after(efficient.head_sizes, efficient.beginnings)
_EFFICIENT_2_14 = _EFFICIENT_2_13.replace(shared.equal_heads, shared.grouped_or_one_head)
_EFFICIENT_2_15 = _EFFICIENT_2_14.replace(
    shared.grouped_or_one_head, shared.grouped_or_one_head_2_15
)

V2_11 = AttentionRules(
    (2, 11),
    "70d99e998b4955e0049d13a98d77ae1b14db1f45",
    prefers_cudnn=cudnn.prefers_cudnn,
    rules={"cudnn": _CUDNN_2_11, "flash": _FLASH_2_11, "efficient": _EFFICIENT_2_11},
)
V2_12 = AttentionRules(
    (2, 12),
    "7661cd9c6b841b62b7f411aa52ec51f05457263b",
    prefers_cudnn=cudnn.prefers_cudnn,
    rules={"cudnn": _CUDNN_2_12, "flash": _FLASH_2_11, "efficient": _EFFICIENT_2_11},
)
V2_13 = AttentionRules(
    (2, 13),
    "cf30153c4c131c8164ee7798e5022d810682e2cb",
    prefers_cudnn=cudnn.prefers_cudnn,
    rules={"cudnn": _CUDNN_2_13, "flash": _FLASH_2_11, "efficient": _EFFICIENT_2_13},
    evaluator=UNTIL_2_14,
)
V2_14 = AttentionRules(
    (2, 14),
    "08187d9e0fba026dc8217405802ab5381dc88d90",
    prefers_cudnn=cudnn.prefers_cudnn,
    rules={"cudnn": _CUDNN_2_14, "flash": _FLASH_2_14, "efficient": _EFFICIENT_2_14},
    evaluator=UNTIL_2_14,
    unbatched=True,
)
V2_15 = AttentionRules(
    (2, 15),
    "d0f2af8b66b20da4baa50644c0cd3f887a2eae2e",
    prefers_cudnn=cudnn.prefers_cudnn,
    rules={"cudnn": _CUDNN_2_15, "flash": _FLASH_2_15, "efficient": _EFFICIENT_2_15},
    evaluator=FROM_2_15,
    unbatched=True,
)

VERSIONS = {version.torch: version for version in (V2_11, V2_12, V2_13, V2_14, V2_15)}


def rules_for(release: str) -> AttentionRules | None:
    """Return the rules of a PyTorch by its ``torch.__version__``; None for an unknown version."""
    return VERSIONS.get(model.Version.parse(release).release)
