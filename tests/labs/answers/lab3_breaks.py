# %% clip_norm right: where
def clip_norm(x, limit):
    norm = x.norm()
    return torch.where(norm > limit, x * (limit / norm), x)


# %% clip_norm right: torch.cond
def clip_norm(x, limit):
    norm = x.norm()
    return torch.cond(norm > limit, lambda x, n: x * (limit / n), lambda x, n: x.clone(), (x, norm))


# %% clip_norm wrong large: never scales
def clip_norm(x, limit):
    return x * 1.0


# %% clip_norm wrong small: always scales
def clip_norm(x, limit):
    return x * (limit / x.norm())


# %% clip_norm wrong break: the tensor in an if
def clip_norm(x, limit):
    norm = x.norm()
    if norm > limit:
        return x * (limit / norm)
    return x


# %% clip_norm wrong break: disabled
@torch.compiler.disable
def clip_norm(x, limit):
    norm = x.norm()
    return x * (limit / norm) if norm > limit else x


# %% WarmUp right: a parameter that is not trained
class WarmUp(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.steps = nn.Parameter(torch.zeros(()), requires_grad=False)

    def forward(self, x):
        self.steps.add_(1)
        return self.inner(x) * torch.minimum(self.steps / 10, torch.ones(()))


# %% WarmUp wrong kept: an attribute that is a tensor
class WarmUp(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.steps = torch.tensor(0.0)

    def forward(self, x):
        self.steps.add_(1)
        return self.inner(x) * torch.minimum(self.steps / 10, torch.ones(()))


# %% WarmUp right: set anew
class WarmUp(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.steps = self.steps + 1
        return self.inner(x) * torch.clamp(self.steps.float() / 10, max=1.0)


# %% WarmUp wrong first: counts after
class WarmUp(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x):
        out = self.inner(x) * (self.steps / 10).clamp(max=1)
        self.steps += 1
        return out


# %% WarmUp wrong counts: does not stop at 1
class WarmUp(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x):
        self.steps += 1
        return self.inner(x) * (self.steps / 10)


# %% WarmUp wrong break: a number made of the tensor
class WarmUp(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x):
        self.steps += 1
        return self.inner(x) * min(1.0, self.steps.item() / 10)


# %% WarmUp wrong break: disabled
class WarmUp(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.register_buffer("steps", torch.zeros(()))

    @torch.compiler.disable
    def factor(self):
        self.steps += 1
        return (self.steps / 10).clamp(max=1)

    def forward(self, x):
        return self.inner(x) * self.factor()


# %% WarmUp wrong recompiles: a float
class WarmUp(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.steps = 0.0

    def forward(self, x):
        self.steps += 1.0
        return self.inner(x) * min(1.0, self.steps / 10)


# %% mean_of_first right: where
def mean_of_first(x, lengths):
    inside = torch.arange(x.shape[1])[None, :, None] < lengths[:, None, None]
    return torch.where(inside, x, torch.zeros(())).sum(1) / lengths[:, None]


# %% mean_of_first right: running sums
def mean_of_first(x, lengths):
    inside = torch.arange(x.shape[1]) < lengths.unsqueeze(1)
    x = x.masked_fill(~inside.unsqueeze(-1), 0.0)
    sums = x.cumsum(1)
    last = (lengths - 1).view(-1, 1, 1).expand(-1, 1, x.shape[2])
    return sums.gather(1, last).squeeze(1) / lengths.view(-1, 1)


# %% mean_of_first wrong full: the wrong dimension
def mean_of_first(x, lengths):
    return x.mean(0)


# %% mean_of_first wrong padding: the padding counts
def mean_of_first(x, lengths):
    return x.sum(1) / lengths[:, None]


# %% mean_of_first wrong padding: one too many
def mean_of_first(x, lengths):
    mask = torch.arange(x.shape[1]) <= lengths[:, None]
    return (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


# %% mean_of_first wrong divisor: by all columns
def mean_of_first(x, lengths):
    mask = torch.arange(x.shape[1]) < lengths[:, None]
    return (x * mask[..., None]).mean(1)


# %% mean_of_first wrong anything: padding times zero
def mean_of_first(x, lengths):
    inside = torch.arange(x.shape[1]) < lengths[:, None]
    return (x * inside[..., None]).sum(1) / lengths[:, None]


# %% mean_of_first wrong break: the loop as it was
def mean_of_first(x, lengths):
    rows = []
    for row, n in zip(x, lengths.tolist()):
        rows.append(row[:n].mean(0))
    return torch.stack(rows)


# %% for_any_batch right: marked
def for_any_batch(model):
    compiled = torch.compile(model, backend="eager")

    def serve(x):
        torch._dynamo.mark_dynamic(x, 0)
        return compiled(x)

    return serve


# %% for_any_batch right: with Inductor's name left out
def for_any_batch(model):
    return torch.compile(dynamic=True, backend="aot_eager")(model)


# %% for_any_batch wrong result: the result, not a function
def for_any_batch(model):
    def serve(x):
        return torch.compile(model, backend="eager", dynamic=True)

    return serve


# %% for_any_batch wrong compiled: not compiled
def for_any_batch(model):
    return model


# %% for_any_batch wrong each-size: static
def for_any_batch(model):
    return torch.compile(model, backend="eager", dynamic=False)


# %% for_any_batch wrong second-size: the default
def for_any_batch(model):
    return torch.compile(model, backend="eager")
