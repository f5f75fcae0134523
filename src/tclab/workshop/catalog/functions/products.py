"""Make examples of products with epilogues, convolutions, attention and small nets."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tclab.workshop.catalog.example import FunctionCall, example


@example(backward=True)
def linear_relu() -> FunctionCall:
    return nn.Sequential(nn.Linear(256, 512), nn.ReLU()), (torch.randn(64, 256),)


@example()
def matmul_epilogue() -> FunctionCall:
    return lambda x, w, b: F.gelu(x @ w + b) * 2, (
        torch.randn(128, 256), torch.randn(256, 512), torch.randn(512))  # fmt: skip


@example()
def batched_matmul() -> FunctionCall:
    return lambda x, y: (x @ y).softmax(-1), (torch.randn(8, 64, 32), torch.randn(8, 32, 64))


@example()
def matmul_bf16() -> FunctionCall:
    x = torch.randn(128, 256, dtype=torch.bfloat16)
    return lambda x, w: (x @ w).relu(), (x, torch.randn(256, 512, dtype=torch.bfloat16))


@example()
def matmul_unaligned() -> FunctionCall:
    return lambda x, w: (x @ w).relu(), (torch.randn(127, 255), torch.randn(255, 129))


@example(options={"shape_padding": False})
def matmul_unaligned_no_padding() -> FunctionCall:
    return lambda x, w: (x @ w).relu(), (torch.randn(127, 255), torch.randn(255, 129))


@example()
def einsum() -> FunctionCall:
    return lambda x, y: torch.einsum("bij,bjk->bik", x, y) + 1, (
        torch.randn(4, 32, 64), torch.randn(4, 64, 16))  # fmt: skip


@example(backward=True)
def matrix_vector() -> FunctionCall:
    return lambda x, v: (x @ v).tanh(), (
        torch.randn(256, 512, requires_grad=True),
        torch.randn(512),
    )


@example()
def small_matmul_decomposed() -> FunctionCall:
    return lambda x, w: x @ w, (torch.randn(1, 64), torch.randn(64, 128))


@example(backward=True)
def mlp_train_step() -> FunctionCall:
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 8))
    target = torch.randint(0, 8, (32,))
    return lambda x: F.cross_entropy(model(x), target), (torch.randn(32, 64),)


@example(backward=True)
def conv_bias_relu() -> FunctionCall:
    return nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU()), (torch.randn(4, 16, 32, 32),)


@example(backward=True)
def conv_bn_relu_pool() -> FunctionCall:
    layers = (nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2))
    return nn.Sequential(*layers), (torch.randn(4, 8, 32, 32),)


@example()
def conv_eval_stack() -> FunctionCall:
    layers = (nn.Conv2d(32, 64, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 64, 1))
    return nn.Sequential(*layers).eval(), (torch.randn(2, 32, 28, 28),)


@example()
def conv_channels_last() -> FunctionCall:
    conv = nn.Conv2d(16, 32, 3).to(memory_format=torch.channels_last)
    x = torch.randn(4, 16, 32, 32).to(memory_format=torch.channels_last)
    return lambda x: conv(x).relu(), (x,)


@example()
def conv_1d() -> FunctionCall:
    return nn.Sequential(nn.Conv1d(16, 32, 5), nn.SiLU()), (torch.randn(4, 16, 100),)


@example()
def conv_depthwise() -> FunctionCall:
    return nn.Conv2d(32, 32, 3, groups=32), (torch.randn(4, 32, 16, 16),)


@example(backward=True)
def conv_transpose() -> FunctionCall:
    return nn.ConvTranspose2d(16, 8, 2, stride=2), (torch.randn(2, 16, 8, 8),)


class Residual(nn.Module):
    """A residual block as in ResNet."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.second(torch.relu(self.norm(self.first(x)))))


@example(backward=True)
def residual_block() -> FunctionCall:
    return Residual(32), (torch.randn(2, 32, 16, 16),)


def _qkv(dtype: torch.dtype, *shape: int, grad: bool = False) -> tuple[torch.Tensor, ...]:
    return tuple(torch.randn(*shape, dtype=dtype, requires_grad=grad) for _ in range(3))


@example()
def attention_fp16() -> FunctionCall:
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v) + 1, (
        _qkv(torch.float16, 2, 4, 64, 32))  # fmt: skip


@example(backward=True)
def attention_bf16_causal() -> FunctionCall:
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (
        _qkv(torch.bfloat16, 2, 4, 128, 64, grad=True))  # fmt: skip


@example(backward=True)
def attention_fp32() -> FunctionCall:
    return lambda q, k, v: F.scaled_dot_product_attention(q * 2, k, v).relu(), (
        _qkv(torch.float32, 2, 4, 128, 64, grad=True))  # fmt: skip


@example()
def attention_masked() -> FunctionCall:
    mask = torch.ones(64, 64, dtype=torch.bool).tril()
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, mask), (
        _qkv(torch.float16, 2, 4, 64, 32))  # fmt: skip


@example()
def attention_written_out() -> FunctionCall:
    return lambda q, k, v: (q @ k.mT * 0.125).softmax(-1) @ v, _qkv(torch.float32, 2, 4, 64, 32)


@example()
def attention_written_out_bf16() -> FunctionCall:
    return lambda q, k, v: (q @ k.mT * 0.125).softmax(-1) @ v, _qkv(torch.bfloat16, 2, 4, 64, 32)


class FusedAttention(nn.Module):
    """Multi-head causal self-attention with PyTorch's fused operator, as in nanoGPT."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, time, width = x.shape
        parts = self.qkv(x).split(width, dim=2)
        q, k, v = (p.view(batch, time, self.heads, -1).transpose(1, 2) for p in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, time, width))


@example(backward=True)
def fused_attention_module() -> FunctionCall:
    return FusedAttention(128, 4), (torch.randn(2, 64, 128),)


@example(backward=True)
def fused_attention_module_bf16() -> FunctionCall:
    return FusedAttention(128, 4).bfloat16(), (torch.randn(2, 64, 128, dtype=torch.bfloat16),)


@example(backward=True)
def multi_head_attention() -> FunctionCall:
    attention = nn.MultiheadAttention(64, 4, batch_first=True)
    return lambda x: attention(x, x, x, need_weights=False)[0], (torch.randn(2, 32, 64),)


@example(backward=True)
def transformer_encoder_layer() -> FunctionCall:
    return nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True), (torch.randn(2, 32, 64),)


class CausalAttention(nn.Module):
    """Multi-head causal self-attention, written out."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("mask", torch.ones(64, 64, dtype=torch.bool).tril())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, time, width = x.shape
        parts = self.qkv(x).view(batch, time, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k, v = parts.unbind(0)
        scores = (q @ k.mT).masked_fill(~self.mask[:time, :time], float("-inf"))
        mixed = (scores * (width // self.heads) ** -0.5).softmax(-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, time, width))


@example(backward=True)
def causal_attention() -> FunctionCall:
    return CausalAttention(64, 4), (torch.randn(2, 64, 64),)


class Block(nn.Module):
    """A transformer block: attention written out, then an MLP, each after a norm."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = CausalAttention(width, 4)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


@example(backward=True)
def transformer_block() -> FunctionCall:
    return Block(64), (torch.randn(2, 64, 64),)


@example(backward=True)
def autocast_mlp() -> FunctionCall:
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64))

    def fn(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return model(x).float().square().mean()

    return fn, (torch.randn(32, 64),)


@example(dynamic=True, backward=True)
def dynamic_mlp() -> FunctionCall:
    return nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64)), (torch.randn(40, 64),)


@example()
def lstm() -> FunctionCall:
    return nn.LSTM(16, 32), (torch.randn(8, 4, 16),)


@example()
def fft() -> FunctionCall:
    return lambda x: torch.fft.rfft(x).abs() + 1, (torch.randn(16, 128),)


@example()
def adam_step() -> FunctionCall:
    def fn(p: torch.Tensor, g: torch.Tensor, m: torch.Tensor, v: torch.Tensor) -> None:
        m.lerp_(g, 0.1)
        v.mul_(0.999).addcmul_(g, g, value=0.001)
        p.addcdiv_(m, v.sqrt().add_(1e-8), value=-1e-3)

    return fn, (torch.randn(1000), torch.randn(1000), torch.zeros(1000), torch.zeros(1000))


@example()
def foreach_sgd() -> FunctionCall:
    def fn(ps: list[torch.Tensor], gs: list[torch.Tensor]) -> list[torch.Tensor]:
        added: list[torch.Tensor] = torch._foreach_add(ps, gs, alpha=-0.1)
        return added

    return fn, ([torch.randn(100), torch.randn(64, 64)], [torch.randn(100), torch.randn(64, 64)])
