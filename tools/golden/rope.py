"""RoPE tables: inverse frequencies, and cos and sin of the float32 angles."""

import torch

# 0 to 31 one by one, then where the float32 angle has lost digits and argument reduction matters.
POSITIONS = [*range(32), 63, 64, 511, 512, 2047, 4095, 8191]
FEW_POSITIONS = [0, 1, 2, 7, 15, 31, 63, 64, 511, 512, 2047, 4095, 8191]

# Rotary modules by name, and the prefix of their goldens.
TABLES = {"model.rotary_emb": "rope", "model.rotary_emb_local": "rope_local"}


def inverse_frequencies(theta: float, head_dim: int) -> torch.Tensor:
    """theta^(-2i/head_dim) as float32 [head_dim/2]: the power rounded to float32, then one float32 division."""
    exponent = torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim
    return 1.0 / torch.pow(torch.tensor(theta, dtype=torch.float64), exponent).float()


def exact_tables(inv_freq: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin in float64 [positions, head_dim/2] of the angles position * inv_freq, which are float32 products."""
    angles = (positions.float()[:, None] * inv_freq[None, :]).double()
    return torch.cos(angles), torch.sin(angles)


def golden_tables(model) -> dict[str, torch.Tensor]:
    """Transformers' tables at POSITIONS, in float32; of the two equal halves it makes per head, one."""
    rotary = model.model.rotary_emb
    half = model.config.head_dim // 2
    cos, sin = rotary(torch.zeros(1), torch.tensor([POSITIONS]))
    inv_freq = rotary.inv_freq.clone()
    if not torch.equal(inv_freq, inverse_frequencies(model.config.rope_theta, model.config.head_dim)):
        raise ValueError("Transformers' inverse frequencies are no longer the float64 power, rounded, then inverted")
    return {
        "rope/inv_freq": inv_freq,
        "rope/cos": cos[0, :, :half].contiguous(),
        "rope/sin": sin[0, :, :half].contiguous(),
    }


def rotary_modules(model) -> dict:
    """The rotary modules of a model by name: none, one, or a global and a local one."""
    modules = dict(model.named_modules())
    return {name: modules[name] for name in TABLES if name in modules}


@torch.no_grad()
def fix_at(model, context_length: int) -> None:
    """Fixes frequencies that depend on the length (dynamic, longrope) at those of `context_length`.

    Transformers takes them anew as a sequence grows; a serving engine cannot, since the cache holds rotated keys. Its
    own function for the type computes them, and no later step changes them.
    """
    for rotary in rotary_modules(model).values():
        if rotary.rope_type in ("dynamic", "longrope"):
            inv_freq, scaling = rotary.rope_init_fn(rotary.config, None, seq_len=context_length)
            rotary(torch.zeros(1), torch.tensor([[context_length - 1]]))
            # The module itself passes the length as a tensor, which computes the base in float32.
            torch.testing.assert_close(rotary.inv_freq, inv_freq, rtol=1e-6, atol=0)
            rotary.inv_freq, rotary.original_inv_freq, rotary.attention_scaling = inv_freq, inv_freq, scaling
            rotary.rope_type = "default"


@torch.no_grad()
def family_tables(model, positions: list[int]) -> dict[str, torch.Tensor]:
    """The tables of every rotary module: inv_freq; cos, sin, times attention scaling: [positions, rotary_dim/2]."""
    tables = {}
    for name, rotary in rotary_modules(model).items():
        half = rotary.inv_freq.shape[0]
        cos, sin = rotary(torch.zeros(1), torch.tensor([positions]))
        tables[f"{TABLES[name]}/inv_freq"] = rotary.inv_freq.clone()
        tables[f"{TABLES[name]}/cos"] = cos[0, :, :half].contiguous()
        tables[f"{TABLES[name]}/sin"] = sin[0, :, :half].contiguous()
    return tables
