"""List the kernels with their sizes and the models with their batches. This module imports no
torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Size = Mapping[str, int | str]
#: Scale (gpu, cpu, tiny) → label → size.
Sizes = Mapping[str, Mapping[str, Size]]


@dataclass(frozen=True)
class KernelSizes:
    """The sizes of a kernel. `other_modes` are the names of implementations other than
    PyTorch's.
    """

    sizes: Sizes
    other_modes: tuple[str, ...] = ()


def _matrix_sizes(*gpu: tuple[int, int]) -> Sizes:
    """Return sizes in rows and columns for each scale: the given sizes for a GPU, one size for a
    CPU, and a tiny one.

    A matrix of the CPU's size is larger than the last-level cache.
    """
    by_scale = {"gpu": gpu, "cpu": ((4096, 4096),), "tiny": ((32, 64),)}
    return {
        scale: {f"{rows}x{columns}": {"rows": rows, "columns": columns} for rows, columns in pairs}
        for scale, pairs in by_scale.items()
    }


def _one_number_sizes(name: str, gpu: tuple[int, ...], cpu: tuple[int, ...], tiny: int) -> Sizes:
    """Return sizes of one number each, with this name."""
    by_scale = {"gpu": gpu, "cpu": cpu, "tiny": (tiny,)}
    return {
        scale: {f"{name}{number}": {name: number} for number in numbers}
        for scale, numbers in by_scale.items()
    }


_LARGE, _SMALL = (16384, 8192), (4096, 1024)
_WIDE = (8192, 32000)  # tokens of a batch, words of a vocabulary
_TRITON = ("triton",)

KERNELS: dict[str, KernelSizes] = {
    "pointwise_chain": KernelSizes(_matrix_sizes(_LARGE, _SMALL)),
    "bias_gelu": KernelSizes(_matrix_sizes(_LARGE, _SMALL)),
    "swiglu": KernelSizes(_matrix_sizes(_LARGE, _SMALL)),
    "softmax": KernelSizes(_matrix_sizes(_LARGE, _SMALL), _TRITON),
    "softmax_written_out": KernelSizes(_matrix_sizes(_LARGE)),
    "cross_entropy": KernelSizes(_matrix_sizes(_WIDE)),
    "cross_entropy_training": KernelSizes(_matrix_sizes(_WIDE)),
    "layer_norm": KernelSizes(_matrix_sizes(_LARGE, _SMALL)),
    "layer_norm_training": KernelSizes(_matrix_sizes(_LARGE)),
    "rms_norm": KernelSizes(_matrix_sizes(_LARGE, _SMALL), _TRITON),
    "rms_norm_training": KernelSizes(_matrix_sizes(_LARGE)),
    "rotary": KernelSizes(_one_number_sizes("tokens", (32768, 2048), (2048,), 16)),
    "matmul_bias_gelu": KernelSizes(_one_number_sizes("n", (8192, 2048), (1024,), 32)),
    "matmul_fp8": KernelSizes(_one_number_sizes("n", (8192, 2048), (), 32)),
    "attention": KernelSizes(_one_number_sizes("tokens", (8192, 1024), (512,), 16)),
    "row_sum": KernelSizes(_matrix_sizes(_LARGE, (1048576, 64))),
    "column_sum": KernelSizes(_matrix_sizes(_LARGE, (1048576, 64))),
    "full_norm": KernelSizes(_matrix_sizes(_LARGE)),
    "cumulative_sum": KernelSizes(_matrix_sizes(_LARGE, (65536, 512))),
    "gather": KernelSizes(_matrix_sizes((65536, 4096))),
    "scatter_add": KernelSizes(_matrix_sizes((65536, 1024))),
    "transpose_add": KernelSizes(_matrix_sizes(_LARGE)),
    "dropout": KernelSizes(_matrix_sizes(_LARGE)),
}

CEILINGS: dict[str, Sizes] = {
    "copy": {
        "gpu": {f"{mib}MiB": {"mib": mib} for mib in (1, 4, 16, 64, 256, 1024, 2048)},
        "cpu": {f"{mib}MiB": {"mib": mib} for mib in (1, 16, 256)},
        "tiny": {"1MiB": {"mib": 1}},
    },
    "product": {
        "gpu": {
            f"{dtype}-{n}": {"dtype": dtype, "n": n}
            for dtype, n in (
                *(("bfloat16", n) for n in (2048, 4096, 8192)),
                *(("float16", 8192), ("tf32", 8192), ("float32", 4096), ("float64", 4096)),
                ("float8", 8192),
            )
        },
        "cpu": {"float32-2048": {"dtype": "float32", "n": 2048}},
        "tiny": {"float32-64": {"dtype": "float32", "n": 64}},
    },
    "launch": {"gpu": {"eager": {}}, "cpu": {"eager": {}}, "tiny": {"eager": {}}},
    "launch_of_a_graph": {"gpu": {"20nodes": {}}},
}

#: Scale → the batches of the sweep over batches.
BATCHES: dict[str, tuple[int, ...]] = {
    "gpu": (1, 8, 64, 512, 4096),
    "cpu": (1, 64),
    "tiny": (2,),
}


#: Scale → the numbers of tokens in the sweep over lengths of texts.
LENGTHS: dict[str, tuple[int, ...]] = {
    "gpu": (64, 256, 1024, 4096),
    "cpu": (16, 128),
    "tiny": (8,),
}


@dataclass(frozen=True)
class TimedModel:
    """A model to time. `large` is the large batch of inference; `train` is the batch of training,
    or 0.
    """

    name: str
    builder: str
    kind: str  # vision, language, speech, diffusion, recommendation
    large: int
    train: int = 0
    size: Size = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    cpu: bool = False


def _timm_model(name: str, large: int = 64, train: int = 0, pixels: int = 224) -> TimedModel:
    size: Size = {"name": name, "pixels": pixels}
    return TimedModel(
        f"timm/{name}", "models.timm_models:vision", "vision", large, train, size, ("timm",)
    )


def _text_model(name: str, large: int = 32, train: int = 0, tokens: int = 128) -> TimedModel:
    size: Size = {"name": name, "tokens": tokens}
    builder, needs = "models.transformers_models:text", ("transformers",)
    kind = "speech" if name in ("whisper_base", "wav2vec2_base") else "language"
    return TimedModel(f"transformers/{name}", builder, kind, large, train, size, needs)


def _torch_model(name: str, kind: str, large: int, train: int = 0) -> TimedModel:
    return TimedModel(
        f"torch/{name}", f"models.torch_models:{name}", kind, large, train, {}, (), cpu=True
    )


#: The first models are of different kinds, so that a run that ends early has measured some of each
#: kind.
MODELS: tuple[TimedModel, ...] = (
    _timm_model("resnet50", train=32),
    _text_model("bert_base", train=32),
    _timm_model("vit_base_patch16_224", train=32),
    _text_model("gpt2", train=8, large=8, tokens=512),
    _torch_model("unet", "diffusion", 8, 8),
    _torch_model("dlrm", "recommendation", 4096, 4096),
    _text_model("llama_small", large=8, train=4, tokens=512),
    _timm_model("mobilenetv3_large_100", train=32),
    _text_model("whisper_base", large=8),
    _timm_model("convnext_tiny", train=32),
    _torch_model("lstm", "language", 64, 64),
    _text_model("t5_small", train=32),
    _timm_model("swin_tiny_patch4_window7_224", train=32),
    _text_model("distilbert", train=32),
    _timm_model("efficientnet_b0", train=32),
    _torch_model("transformer", "language", 32, 32),
    _timm_model("resnet18", train=32),
    _text_model("roberta_base", train=32),
    _timm_model("deit_small_patch16_224", train=32),
    _text_model("opt_125m", large=8, train=8, tokens=512),
    _timm_model("mixer_b16_224", train=32),
    _text_model("albert_base", train=32),
    _timm_model("vgg16", train=32),
    _text_model("bart_base", large=16, train=16),
    _timm_model("densenet121", train=32),
    _text_model("electra_small", train=32),
    _timm_model("regnety_032", train=32),
    _text_model("wav2vec2_base", large=8),
    _timm_model("mobilenetv2_100", train=32),
    _text_model("pythia_160m", large=8, train=8, tokens=512),
    _timm_model("inception_v3", train=32, pixels=299),
    _text_model("qwen2_small", large=8, train=4, tokens=512),
    _timm_model("resnext50_32x4d", train=32),
    _text_model("deberta_small", train=32),
    _timm_model("levit_128", train=32),
    _timm_model("beit_base_patch16_224", train=32),
    _timm_model("poolformer_s12", train=32),
    _timm_model("gmlp_s16_224", train=32),
    _timm_model("mobilevit_s", train=32),
    _timm_model("repvgg_a2", train=32),
    _timm_model("ghostnet_100", train=32),
    _timm_model("nfnet_l0", train=32),
    _timm_model("xcit_small_12_p16_224", train=32),
    _timm_model("res2net50_26w_4s", train=32),
)
