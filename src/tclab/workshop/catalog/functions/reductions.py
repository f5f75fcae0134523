"""Make examples of reductions, norms, softmax variants, losses, scans and sorts."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tclab.workshop.catalog.example import FunctionCall, example


@example(backward=True)
def sum_rows() -> FunctionCall:
    return lambda x: (x * 2).sum(-1), (torch.randn(1024, 777, requires_grad=True),)


@example()
def sum_all_large() -> FunctionCall:
    return lambda x: x.sum(), (torch.randn(1 << 22),)


@example()
def sum_columns() -> FunctionCall:
    return lambda x: x.sum(0), (torch.randn(8192, 256),)


@example()
def mean_middle() -> FunctionCall:
    return lambda x: x.mean(1), (torch.randn(32, 300, 64),)


@example()
def amax_argmax() -> FunctionCall:
    return lambda x: (x.amax(-1), x.argmax(-1), x.amin(0)), (torch.randn(300, 2000),)


@example()
def variance() -> FunctionCall:
    return lambda x: torch.var_mean(x, -1), (torch.randn(128, 4096),)


@example()
def any_all_prod() -> FunctionCall:
    return lambda x: ((x > 0).any(-1), (x < 9).all(0), x.prod(-1)), (torch.randn(64, 128),)


@example()
def vector_norms() -> FunctionCall:
    return lambda x: (x.norm(dim=-1), torch.linalg.vector_norm(x, 1, dim=0), x.logsumexp(-1)), (
        torch.randn(256, 512),)  # fmt: skip


@example(backward=True)
def softmax_small() -> FunctionCall:
    return lambda x: torch.softmax(x, -1), (torch.randn(512, 256, requires_grad=True),)


@example(backward=True)
def softmax_large() -> FunctionCall:
    return lambda x: torch.softmax(x, -1), (torch.randn(64, 50304, requires_grad=True),)


@example(backward=True)
def log_softmax_bf16() -> FunctionCall:
    x = torch.randn(128, 1000, dtype=torch.bfloat16, requires_grad=True)
    return lambda x: F.log_softmax(x, -1, dtype=torch.float32), (x,)


@example()
def softmax_columns() -> FunctionCall:
    return lambda x: torch.softmax(x * 0.5, 0), (torch.randn(512, 300),)


@example(backward=True)
def masked_softmax() -> FunctionCall:
    mask = torch.ones(128, 128, dtype=torch.bool).tril()
    return lambda x: x.masked_fill(~mask, float("-inf")).softmax(-1), (
        torch.randn(8, 128, 128, requires_grad=True),)  # fmt: skip


@example(backward=True)
def layer_norm() -> FunctionCall:
    return nn.LayerNorm(1024), (torch.randn(512, 1024, requires_grad=True),)


@example(backward=True)
def layer_norm_wide() -> FunctionCall:
    return nn.LayerNorm(8192), (torch.randn(64, 8192, requires_grad=True),)


@example(backward=True)
def rms_norm() -> FunctionCall:
    return nn.RMSNorm(768), (torch.randn(256, 768, requires_grad=True),)


@example(backward=True)
def silu_and_mish() -> FunctionCall:
    return lambda x: F.silu(x) * F.mish(x), (torch.randn(300, 100, requires_grad=True),)


@example(backward=True)
def group_norm() -> FunctionCall:
    return nn.GroupNorm(8, 64), (torch.randn(4, 64, 16, 16, requires_grad=True),)


@example(backward=True)
def batch_norm_train() -> FunctionCall:
    return nn.BatchNorm2d(32), (torch.randn(8, 32, 16, 16, requires_grad=True),)


@example(backward=True)
def batch_norm_1d() -> FunctionCall:
    return nn.BatchNorm1d(128), (torch.randn(64, 128, requires_grad=True),)


@example()
def batch_norm_eval() -> FunctionCall:
    return nn.BatchNorm2d(32).eval(), (torch.randn(8, 32, 16, 16),)


@example(backward=True)
def instance_norm() -> FunctionCall:
    return nn.InstanceNorm2d(16, affine=True), (torch.randn(4, 16, 20, 20, requires_grad=True),)


@example(backward=True)
def cross_entropy() -> FunctionCall:
    return F.cross_entropy, (torch.randn(256, 1000, requires_grad=True),
                             torch.randint(0, 1000, (256,)))  # fmt: skip


@example(backward=True)
def mse_and_huber() -> FunctionCall:
    return lambda x, y: F.mse_loss(x, y) + F.huber_loss(x, y), (
        torch.randn(64, 100, requires_grad=True), torch.randn(64, 100))  # fmt: skip


@example(backward=True)
def bce_with_logits() -> FunctionCall:
    return F.binary_cross_entropy_with_logits, (torch.randn(4096, requires_grad=True),
                                                torch.rand(4096))  # fmt: skip


@example(backward=True)
def kl_divergence() -> FunctionCall:
    return lambda x, y: F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="batchmean"), (
        torch.randn(64, 300, requires_grad=True), torch.randn(64, 300))  # fmt: skip


@example(backward=True)
def cumulative_sum() -> FunctionCall:
    return lambda x: torch.cumsum(x, -1), (torch.randn(128, 512, requires_grad=True),)


@example()
def cumulative_product_and_max() -> FunctionCall:
    return lambda x: (torch.cumprod(x, -1), torch.logcumsumexp(x, -1)), (torch.randn(64, 256),)


@example()
def sort_and_topk() -> FunctionCall:
    return lambda x: (torch.sort(x, -1)[0], torch.topk(x, 5)[0]), (torch.randn(64, 128),)


@example(dynamic=True, backward=True)
def dynamic_softmax() -> FunctionCall:
    return lambda x: torch.softmax(x, -1), (torch.randn(100, 300, requires_grad=True),)
