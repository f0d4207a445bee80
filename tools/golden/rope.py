"""RoPE tables: inverse frequencies, and cos and sin of the float32 angles."""

import torch

# 0 to 31 one by one, then where the float32 angle has lost digits and argument reduction matters.
POSITIONS = [*range(32), 63, 64, 511, 512, 2047, 4095, 8191]


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
