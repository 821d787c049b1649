# tier: cpu
# timeout-s: 600
"""A decoder block as Transformers spells it: compiled by inductor, then on rockiln's ops, forward and backward."""

import importlib.util
import os
import sys
import tempfile

from own_packages import find_plugin

if not find_plugin():
    print("this image has no rockiln-torch")
    sys.exit()

import torch
from torch import nn
from torch.nn import functional

WIDTH, HEADS, GROUPS, HEAD = 64, 4, 2, 16


class Norm(nn.Module):
    """LlamaRMSNorm."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, WIDTH))

    def forward(self, x):
        wide = x.to(torch.float32)
        variance = wide.pow(2).mean(-1, keepdim=True)
        return self.weight * (wide * torch.rsqrt(variance + 1e-6)).to(x.dtype)


def rotate_half(x):
    """As Transformers has it."""
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


class Block(nn.Module):
    """LlamaDecoderLayer, with its rotary tables made within."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([Norm(), Norm()])
        self.q, self.o = nn.Linear(WIDTH, HEADS * HEAD, bias=False), nn.Linear(HEADS * HEAD, WIDTH, bias=False)
        self.k, self.v = (nn.Linear(WIDTH, GROUPS * HEAD, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(WIDTH, 96, bias=False) for _ in range(2))
        self.down = nn.Linear(96, WIDTH, bias=False)

    def attend(self, x):
        rows = [part(x).unflatten(-1, (-1, HEAD)).transpose(1, 2) for part in (self.q, self.k, self.v)]
        angles = torch.arange(x.shape[1], dtype=torch.float32)[None, :, None] * torch.linspace(0.05, 1.0, HEAD // 2)
        both = torch.cat((angles, angles), dim=-1)
        cos, sin = both.cos().to(x.dtype).unsqueeze(1), both.sin().to(x.dtype).unsqueeze(1)
        q, k = (part * cos + rotate_half(part) * sin for part in rows[:2])
        k, v = (part.repeat_interleave(HEADS // GROUPS, dim=1) for part in (k, rows[2]))
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=HEAD**-0.5)
        return self.o(out.transpose(1, 2).flatten(2))

    def forward(self, x):
        x = x + self.attend(self.norms[0](x))
        wide = self.norms[1](x)
        return x + self.down(functional.silu(self.gate(wide)) * self.up(wide))


def compute(function, given, parameters):
    """The output, and the gradients of input and weights."""
    x = given.clone().requires_grad_()
    y = function(x)
    return [y, *torch.autograd.grad(y.square().sum(), [x, *parameters])]


def check_transformers():
    """A tiny Llama, patched, against itself."""
    import transformers

    from rockiln_torch.models import patch_model

    words = {"vocab_size": 64, "hidden_size": WIDTH, "intermediate_size": 96, "num_hidden_layers": 1}
    config = transformers.LlamaConfig(**words, num_attention_heads=HEADS, num_key_value_heads=GROUPS, use_cache=False)
    model, tokens = transformers.LlamaForCausalLM(config).eval(), torch.arange(1, 12)[None]
    with torch.no_grad():
        expected = model(tokens).logits
        patch = patch_model(model)
        torch.testing.assert_close(model(tokens).logits, expected, atol=1e-4, rtol=1e-4)
    patch.undo()
    return f"Transformers {transformers.__version__}: {dict(patch.patched)}"


with tempfile.TemporaryDirectory() as folder:
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder  # what an earlier check compiled is not this check's doing
    from rockiln_torch import profile
    from rockiln_torch.compile import make_backend

    torch.manual_seed(7)
    block, given = Block(), torch.randn(2, 9, WIDTH)
    expected = compute(block, given, block.parameters())
    plain = torch.compile(block, backend="inductor", fullgraph=True)
    report = []
    replaced = torch.compile(block, backend=make_backend(report=report), fullgraph=True)
    for compiled in (plain, replaced):
        for got, want in zip(compute(compiled, given, block.parameters()), expected, strict=True):
            torch.testing.assert_close(got, want, atol=1e-3, rtol=1e-3)
    counts = {"attention_prefill": 1, "rms_norm": 2, "rope": 2, "silu_and_mul": 1}
    assert dict(report[0].counts) == counts, report
    with profile() as calls, torch.no_grad():
        replaced(given)
    called = {call.op for call in calls.calls}
    assert counts.keys() <= called, f"compiled code does not call {sorted(counts.keys() - called)}"
    libraries = [name for _, _, files in os.walk(folder) for name in files if name.endswith(".so")]
    assert libraries, "inductor compiled nothing"
print(f"{dict(report[0].counts)} in place of eager code; {len(libraries)} libraries compiled")
print(check_transformers() if importlib.util.find_spec("transformers") else "this image has no Transformers")
