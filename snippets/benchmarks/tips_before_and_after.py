"""Five tips on a GPU, before and after, measured.

Each pair takes turns; medians. Channels-last: four convolutions of 64 channels with batch norm.
Numbers: three layers of width 4096, in float32, in TF32, in bfloat16. Max-autotune: a product with
an epilogue. CUDA graphs: twenty small layers. Optimizer: AdamW on 200 parameters of 256 × 256.
"""
# tclab: needs=cuda,triton alone=true timeout=300 memory=32768

import copy

import torch
from _tables import table
from _timing import side_by_side
from torch import nn

import tclab

rows = []


def compare(tip, ways):
    """Time calls in turns by the device's events; the first is what others are held against."""
    on_gpu = torch.empty(1, device="cuda")
    times = side_by_side([lambda _, way=way: way() for way in ways.values()], [(on_gpu,)])
    rows.extend((tip, name, us, times[0] / us) for name, us in zip(ways, times))


def compiled(fn, **how):
    return torch.compile(fn, dynamic=False, **how)


def layers(number, width):
    parts = [p for _ in range(number) for p in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*parts).cuda()


def random(*shape):
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16)


with torch.no_grad():
    block = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU())
    plain = nn.Sequential(*(copy.deepcopy(block) for _ in range(4))).cuda().bfloat16().eval()
    images = random(64, 64, 56, 56)
    forms = {"contiguous": images}
    forms |= {"channels-last": images.to(memory_format=torch.channels_last)}
    whos = {"eager": plain, "compiled": compiled(plain)}
    pairs = {f"{who}, {form}": (f, x) for who, f in whos.items() for form, x in forms.items()}
    ways = {name: lambda f=f, x=x: f(x) for name, (f, x) in pairs.items()}
    compare("channels-last inputs", ways)

    x, model, times = torch.randn(4096, 4096, device="cuda"), layers(3, 4096), []
    for precision in ("highest", "high"):
        torch.set_float32_matmul_precision(precision)
        torch._dynamo.reset()
        times += side_by_side([compiled(model)], [(x,)])
    times += side_by_side([compiled(layers(3, 4096).bfloat16())], [(x.bfloat16(),)])
    names = ("float32", "TF32", "bfloat16")
    rows += [("narrower numbers, compiled", n, us, times[0] / us) for n, us in zip(names, times)]

    wide, x = nn.Sequential(nn.Linear(2048, 8192), nn.GELU()).cuda().bfloat16(), random(4096, 2048)
    tuned = compiled(wide, mode="max-autotune-no-cudagraphs")
    ways = {"default": lambda f=compiled(wide): f(x), "max-autotune": lambda: tuned(x)}
    compare("max-autotune, a product with GELU", ways)

    small, few = layers(20, 256).bfloat16(), random(8, 256)
    fns = {"eager": small, "default mode": compiled(small)}
    fns |= {"reduce-overhead": compiled(small, mode="reduce-overhead")}
    compare("CUDA graphs, 20 small layers", {n: lambda f=f: f(few) for n, f in fns.items()})


def step(**how):
    """AdamW's step on parameters of its own, after a first."""
    leaves = [torch.randn(256, 256, device="cuda", requires_grad=True) for _ in range(200)]
    for leaf in leaves:
        leaf.grad = torch.randn_like(leaf)
    optimizer = torch.optim.AdamW(leaves, **how)
    optimizer.step()
    return optimizer.step


ways = {"a loop": step(foreach=False), "foreach": step(foreach=True), "fused": step(fused=True)}
rate = torch.tensor(1e-4, device="cuda")
ways |= {"compiled step": torch.compile(step(lr=rate, foreach=True, capturable=True))}
compare("optimizer, 200 parameters", ways)

columns = {"tip": "", "way": "", "time": "µs .1f", "× the first": " .2f"}
tclab.show(table("Five tips on one GPU", columns, rows, name="tips"))
columns = {"way": "", "time": "µs .1f", "gain": "× .2f"}
tclab.show(table("By way", columns, [row[1:] for row in rows], name="ways"))
gain = {row[1]: row[3] for row in rows}

# claim: narrower-numbers-are-faster
assert gain["bfloat16"] > gain["TF32"] > 1.5
# claim: graphs-gain-on-small-layers
assert gain["reduce-overhead"] > 1.5 * gain["default mode"]
# claim: the-loop-is-the-slowest-step
assert min(gain[way] for way in ("foreach", "fused", "compiled step")) > 2
