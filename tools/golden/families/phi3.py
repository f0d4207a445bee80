"""Phi-3: fused q, k, v and gate, up; a part of each head rotates; longrope with factors for short and long contexts."""

import torch
from transformers import Phi3Config, Phi3ForCausalLM

from boundaries import GATED_INPUTS, GATED_LAYER, Boundary, decoder
from family import Family, Fault, Variant, set_config

LAYER = "model.layers.0"
Q_ROPE = f"{LAYER}.self_attn.q_rope"
FUSED = {"self_attn.q_proj": "self_attn.qkv_proj", "mlp.gate_proj": "mlp.gate_up_proj"}
MERGED = {"self_attn.k_proj", "self_attn.v_proj", "mlp.up_proj"}

SHORT = [1.0, 1.05, 1.2, 1.5]
LONG = [1.1, 2.0, 3.5, 4.0]


def boundaries(config) -> list[Boundary]:
    inside = tuple(FUSED.get(name, name) for name in GATED_LAYER if name not in MERGED)
    return decoder(config.num_hidden_layers, {0: inside}, GATED_INPUTS)


def refactored(own: list[float], other: list[float]):
    """The frequencies with the factors of the other kind of context."""

    def change(model):
        rotary = model.model.rotary_emb
        rotary.inv_freq = rotary.inv_freq * torch.tensor(own) / torch.tensor(other)

    return change


def without_scaling(model) -> None:
    model.model.rotary_emb.scaling = 1.0


def swapped_halves(model) -> None:
    """up before gate in the fused matrix."""
    for layer in model.model.layers:
        gate, up = layer.mlp.gate_up_proj.weight.data.chunk(2)
        layer.mlp.gate_up_proj.weight.data = torch.cat([up, gate])


PHI3 = Family(
    model_class=Phi3ForCausalLM,
    config_class=Phi3Config,
    seed=2,
    settings={
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 640,
        "original_max_position_embeddings": 160,
        "partial_rotary_factor": 0.5,
        "rope_theta": 10000.0,
        "rms_norm_eps": 1e-5,
        "rope_scaling": {"type": "longrope", "short_factor": SHORT, "long_factor": LONG},
        "sliding_window": None,
    },
    boundaries=boundaries,
    variants=(
        Variant(
            "tiny-phi3",
            "a context of 640 over 160 positions of training: long factors; half of each head rotates",
            context_length=640,
            faults=(
                Fault("short factors", refactored(LONG, SHORT), Q_ROPE),
                Fault("no attention scaling", without_scaling, Q_ROPE),
                Fault("up before gate in the fused matrix", swapped_halves, f"{LAYER}.mlp.gate_up_proj"),
            ),
        ),
        Variant(
            "tiny-phi3-short",
            "a context of 160, as trained: short factors; a window of 8; the weights of tiny-phi3",
            settings={"sliding_window": 8},
            context_length=160,
            faults=(
                Fault("long factors", refactored(SHORT, LONG), Q_ROPE),
                Fault(
                    "window one position too long",
                    set_config(sliding_window=9),
                    f"{LAYER}.self_attn.attention",
                ),
            ),
        ),
    ),
)
