"""A Llama forward pass in plain steps, once in float64 and once in float32 with every sum in a fixed order.

Neither is a golden. The float64 one says what the formula's value is; the float32 one shows how far a program that
sums one chain in ascending k drifts from it (Transformers sums in blocks, which drifts less). The tolerances come from
these two distances. Both share nothing with Transformers but the weights and the float32 RoPE angles.

Tensors are float64 throughout; the float32 arithmetic rounds after every operation. One operation on float32 values
done in float64 and then rounded is correctly rounded for +, -, *, / and sqrt; for the fused multiply-add the second
rounding can miss a tie about once in 2^29, which a measurement of drift does not see.
"""

from dataclasses import dataclass, replace

import torch

import rope


class Float64:
    """Float64 sums in whatever order the library likes: its error is nine digits below float32's."""

    def round(self, x):
        return x

    def store(self, x):
        """What the KV cache keeps of x."""
        return x

    def linear(self, x, w):
        """x [..., rows, k] and w [..., outputs, k] give [..., rows, outputs]."""
        return x @ w.transpose(-1, -2)

    def row_sum(self, x):
        return x.sum(-1, keepdim=True)


class AscendingFloat32(Float64):
    """Float32: linear is one fused multiply-add chain per output in ascending k; a row sum has 8 lanes and a tree."""

    def round(self, x):
        return x.float().double()

    def linear(self, x, w):
        by_k = w.transpose(-1, -2).contiguous()
        total = torch.zeros((*x.shape[:-1], w.shape[-2]), dtype=torch.float64)
        for k in range(x.shape[-1]):
            total = self.round(total + x[..., :, k, None] * by_k[..., None, k, :])
        return total

    def row_sum(self, x):
        lanes = torch.zeros((*x.shape[:-1], 8), dtype=torch.float64)
        padded = torch.nn.functional.pad(x, (0, -x.shape[-1] % 8))
        for start in range(0, padded.shape[-1], 8):
            lanes = self.round(lanes + padded[..., start : start + 8])
        for width in (4, 2, 1):
            lanes = self.round(lanes[..., :width] + lanes[..., width : 2 * width])
        return lanes


@dataclass(frozen=True)
class Llama:
    """Weights by Hugging Face name (float64 copies of float32 values) and the numbers the formula needs."""

    weights: dict[str, torch.Tensor]
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    eps: float
    theta: float
    kv_head_of: tuple[int, ...]  # the KV head that each query head reads
    first_position: int = 0

    @classmethod
    def of(cls, model) -> "Llama":
        config = model.config
        heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
        return cls(
            weights={name: weight.double() for name, weight in model.state_dict().items()},
            layers=config.num_hidden_layers,
            heads=heads,
            kv_heads=kv_heads,
            head_dim=config.head_dim,
            eps=config.rms_norm_eps,
            theta=config.rope_theta,
            kv_head_of=tuple(head // (heads // kv_heads) for head in range(heads)),
        )

    def with_weights(self, changed: dict[str, torch.Tensor]) -> "Llama":
        return replace(self, weights={**self.weights, **changed})


def step(llama: Llama, arithmetic: Float64, ids, cache: list, logit_rows: int = 1) -> dict[str, torch.Tensor]:
    """Runs `ids` after the positions in `cache` (one [k, v] pair per layer, extended in place; start with []).

    Returns the boundaries of boundaries.llama(), float64 [rows, width]; `model.norm` and `lm_head` hold the last
    `logit_rows` tokens.
    """
    a, w, out = arithmetic, llama.weights, {}
    start = cache[0][0].shape[0] if cache else 0
    positions = torch.arange(start, start + len(ids))
    inv_freq = rope.inverse_frequencies(llama.theta, llama.head_dim)
    cos, sin = map(a.round, rope.exact_tables(inv_freq, positions + llama.first_position))
    x = out["model.embed_tokens"] = w["model.embed_tokens.weight"][torch.tensor(ids)]
    for layer in range(llama.layers):
        p, b = f"model.layers.{layer}", {}
        b["input_layernorm"] = rms_norm(a, x, w[f"{p}.input_layernorm.weight"], llama.eps)
        for name in ("q_proj", "k_proj", "v_proj"):
            b[f"self_attn.{name}"] = a.linear(b["input_layernorm"], w[f"{p}.self_attn.{name}.weight"])
        q = rotate(a, split_heads(b["self_attn.q_proj"], llama.head_dim), cos, sin)
        k = rotate(a, split_heads(b["self_attn.k_proj"], llama.head_dim), cos, sin)
        v = split_heads(b["self_attn.v_proj"], llama.head_dim)
        b["self_attn.q_rope"], b["self_attn.k_rope"] = q.flatten(1), k.flatten(1)
        if len(cache) == layer:
            cache.append([k[:0], v[:0]])
        cache[layer] = [torch.cat([old, a.store(new)]) for old, new in zip(cache[layer], (k, v), strict=True)]
        b["self_attn.attention"] = attention(a, q, *cache[layer], positions, llama.kv_head_of)
        b["self_attn.o_proj"] = a.linear(b["self_attn.attention"], w[f"{p}.self_attn.o_proj.weight"])
        x = b["attn_residual"] = a.round(x + b["self_attn.o_proj"])
        b["post_attention_layernorm"] = rms_norm(a, x, w[f"{p}.post_attention_layernorm.weight"], llama.eps)
        for name in ("gate_proj", "up_proj"):
            b[f"mlp.{name}"] = a.linear(b["post_attention_layernorm"], w[f"{p}.mlp.{name}.weight"])
        b["mlp.act"] = a.round(silu(a, b["mlp.gate_proj"]) * b["mlp.up_proj"])
        b["mlp.down_proj"] = a.linear(b["mlp.act"], w[f"{p}.mlp.down_proj.weight"])
        x = a.round(x + b["mlp.down_proj"])
        if layer == 0:
            out |= {f"{p}.{name}": value for name, value in b.items()}
        out[p] = x if layer == 0 else x[-1:]
    out["model.norm"] = rms_norm(a, x[-logit_rows:], w["model.norm.weight"], llama.eps)
    out["lm_head"] = a.linear(out["model.norm"], w["lm_head.weight"])
    return out


def rms_norm(a, x, weight, eps):
    """x / sqrt(mean(x^2) + eps) * weight, for rows of x."""
    mean_square = a.round(a.row_sum(a.round(x * x)) / x.shape[-1])
    scale = a.round(1 / a.round(torch.sqrt(a.round(mean_square + eps))))
    return a.round(weight * a.round(x * scale))


def split_heads(x, head_dim):
    return x.reshape(x.shape[0], -1, head_dim)


def rotate(a, x, cos, sin):
    """Rotates pair (i, i + head_dim/2) of every head [tokens, heads, head_dim] by the tables [tokens, head_dim/2]."""
    first, second = x.chunk(2, dim=-1)
    cos, sin = cos[:, None], sin[:, None]
    turned_first = a.round(a.round(first * cos) - a.round(second * sin))
    turned_second = a.round(a.round(second * cos) + a.round(first * sin))
    return torch.cat([turned_first, turned_second], -1)


def attention(a, q, keys, values, positions, kv_head_of):
    """Causal attention of q [tokens, heads, head_dim] over the cache [positions, kv_heads, head_dim].

    In one piece: past 64 positions hearth merges tiles, which is another order with a drift of the same size.
    """
    chosen = torch.tensor(kv_head_of)
    q, keys, values = q.transpose(0, 1), keys[:, chosen].transpose(0, 1), values[:, chosen].transpose(0, 1)
    scores = a.round(a.linear(q, keys) * q.shape[-1] ** -0.5)
    visible = torch.arange(keys.shape[1])[None, :] <= positions[:, None]
    largest = scores.masked_fill(~visible, -torch.inf).amax(-1, keepdim=True)
    p = torch.where(visible, a.round(torch.exp(a.round(scores - largest))), 0)
    mixed = a.round(a.linear(p, values.transpose(1, 2)) / a.row_sum(p))
    return mixed.transpose(0, 1).flatten(1)


def silu(a, x):
    return a.round(x * a.round(1 / a.round(1 + a.round(torch.exp(-x)))))
