"""Hugging Face's `generate` on a GPU: a cache that grows, and static ones.

A Llama of random weights, float32, batch 1, greedy. Compiles are counted over a first call, a
second that is the same, and a third with another prompt and more tokens. Tokens a second are those
of the fastest of three more calls like the second.
"""
# tclab: needs=cuda,triton alone=true timeout=400 memory=32768

import time

import torch
import transformers
from torch._dynamo.utils import counters
from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

import tclab

TOKENS, LENGTH = 128, 512


def model():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=4096, hidden_size=1024, intermediate_size=2816, num_hidden_layers=4,
        num_attention_heads=16, num_key_value_heads=4, max_position_embeddings=2 * LENGTH,
    )  # fmt: skip
    made = LlamaForCausalLM(config).to("cuda").eval()
    made.generation_config.eos_token_id, made.generation_config.pad_token_id = None, 0
    return made


def as_it_is(model, prompt, new):
    return model.generate(prompt, max_new_tokens=new, do_sample=False)


def compiled_by_hand(model, prompt, new):
    if "forward" not in vars(model):
        model.forward = torch.compile(model.forward)
    return model.generate(prompt, max_new_tokens=new, do_sample=False)


def static(model, prompt, new):
    return model.generate(
        prompt, max_new_tokens=new, do_sample=False, cache_implementation="static"
    )


def static_without_compiling(model, prompt, new):
    return model.generate(
        prompt, max_new_tokens=new, do_sample=False, cache_implementation="static",
        disable_compile=True,
    )  # fmt: skip


def static_of_my_own(model, prompt, new):
    if "held" not in vars(model):  # one length for all calls
        vars(model)["held"] = StaticCache(config=model.config, max_cache_len=LENGTH)
    model.held.reset()
    return model.generate(prompt, max_new_tokens=new, do_sample=False, past_key_values=model.held)


def compiles(way, *args):
    before = counters["stats"]["unique_graphs"]
    tokens = way(*args)
    return tokens[0], counters["stats"]["unique_graphs"] - before


torch.set_grad_enabled(False)
prompts = [torch.randint(0, 4096, (1, length), device="cuda") for length in (16, 40)]
rows, first = {}, {}
for way in (as_it_is, compiled_by_hand, static_without_compiling, static, static_of_my_own):
    torch._dynamo.reset()
    counters.clear()
    llama = model()
    calls = [(prompts[0], TOKENS), (prompts[0], TOKENS), (prompts[1], 2 * TOKENS)]
    found = [compiles(way, llama, *call) for call in calls]
    first[way] = [tokens for tokens, _ in found]
    taken = []
    for _ in range(4):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        way(llama, *calls[0])
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - begin)
    rows[way] = (*(count for _, count in found), TOKENS / min(taken[1:]))
same = {way: all(torch.equal(mine[:48], eager[:48]) for mine, eager in
                 zip(first[way], first[as_it_is], strict=True)) for way in rows}  # fmt: skip
tclab.show(tclab.Table(
    title="generate, 128 tokens after 16", name="ways",
    columns=("way", "compiles", "at the second call", "at the third, longer", "tokens a second"),
    formats=("", "d", "d", "d", ".0f"),
    rows=[(way.__name__.replace("_", " "), *row) for way, row in rows.items()],
    caption=f"transformers {transformers.__version__}.",
))  # fmt: skip

speed = {way: row[-1] for way, row in rows.items()}
# claim: the-first-tokens-are-eagers
assert all(same.values()), same
# claim: by-itself-it-compiles-nothing
assert sum(rows[as_it_is][:3]) == 0 == sum(rows[static_without_compiling][:3]), rows
# claim: a-static-cache-makes-it-compile
assert rows[static][0] >= 1, rows
# claim: the-same-call-compiles-nothing-more
assert all(row[1] == 0 for row in rows.values()), rows
# claim: a-cache-of-one-length-compiles-once
assert rows[static_of_my_own][0] >= 1 and rows[static_of_my_own][2] == 0, rows
# claim: static-and-compiled-is-faster
assert min(speed[static], speed[static_of_my_own]) > 1.3 * speed[as_it_is], speed
