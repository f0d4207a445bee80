"""Shows that the tolerances still catch real mistakes, and at the right boundary.

Each fault is a mistake that an implementation of Llama makes easily, put into the float64 forward pass. The first
boundary out of tolerance must be the one where the mistake sits; a tolerance that lets it pass is too wide.
"""

from dataclasses import dataclass, replace

import torch

import forward


class HalfCache(forward.Float64):
    """Keys and values rounded to float16 in the cache, where the goldens ask for float32."""

    def store(self, x):
        return x.half().double()


@dataclass(frozen=True)
class Fault:
    name: str
    llama: forward.Llama
    caught_at: str
    arithmetic: forward.Float64 = forward.Float64()


def faults(right: forward.Llama) -> list[Fault]:
    layer = "model.layers.0"
    w = right.weights
    q, k = f"{layer}.self_attn.q_proj.weight", f"{layer}.self_attn.k_proj.weight"
    gate, up = f"{layer}.mlp.gate_proj.weight", f"{layer}.mlp.up_proj.weight"
    interleaved = tuple(head % right.kv_heads for head in range(right.heads))
    return [
        Fault("RMSNorm eps 1e-6 in place of 1e-5", replace(right, eps=1e-6), f"{layer}.input_layernorm"),
        Fault(
            "q and k rows left in GGUF order",
            right.with_weights({name: gguf_order(w[name], right.head_dim) for name in (q, k)}),
            f"{layer}.self_attn.q_proj",
        ),
        Fault("rope_theta 1% too large", replace(right, theta=right.theta * 1.01), f"{layer}.self_attn.q_rope"),
        Fault("positions counted from 1", replace(right, first_position=1), f"{layer}.self_attn.q_rope"),
        Fault(
            "query head h reads KV head h mod kv_heads",
            replace(right, kv_head_of=interleaved),
            f"{layer}.self_attn.attention",
        ),
        Fault("KV cache in float16", right, f"{layer}.self_attn.attention", HalfCache()),
        Fault(
            "gate and up swapped", right.with_weights({gate: w[up], up: w[gate]}), f"{layer}.mlp.gate_proj"
        ),
    ]  # fmt: skip


def gguf_order(weight: torch.Tensor, head_dim: int) -> torch.Tensor:
    """Rows with the two halves of each head interleaved, as GGUF files keep them."""
    return weight.reshape(-1, 2, head_dim // 2, weight.shape[-1]).transpose(1, 2).reshape(weight.shape)


def check(right: forward.Llama, ids: list[int], goldens: dict, tolerances: dict) -> list[dict]:
    """Runs every fault over the prompt; returns where each was caught and by how many tolerances."""
    caught = []
    for fault in faults(right):
        one_layer = replace(fault.llama, layers=1)
        computed = forward.step(one_layer, fault.arithmetic, ids, [])
        for name, value in computed.items():
            difference = (value - goldens[f"prefill/{name}"].double()).abs().max().item()
            allowed = tolerances[f"prefill/{name}"]["abs"]
            if difference > allowed:
                break
        if name != fault.caught_at:
            raise ValueError(f"fault '{fault.name}': expected at {fault.caught_at}, found at {name}")
        caught.append({"fault": fault.name, "first_boundary": name, "times_tolerance": round(difference / allowed)})
    return caught
