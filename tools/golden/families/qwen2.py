"""Qwen2 and Qwen2.5: Llama with biases on q, k and v, and a window that the configuration names but does not use."""

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from boundaries import llama
from family import Family, Fault, Variant, change_weights, set_config

LAYER = "model.layers.0"


def windowed(model) -> None:
    """What reading `sliding_window` without `use_sliding_window` does."""
    set_config(sliding_window=8)(model)
    model.model.has_sliding_layers = True
    for layer in model.model.layers:
        layer.attention_type = "sliding_attention"


QWEN2 = Family(
    model_class=Qwen2ForCausalLM,
    config_class=Qwen2Config,
    seed=1,
    settings={
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 8192,
        "rope_theta": 1000000.0,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": True,
    },
    boundaries=lambda config: llama(config.num_hidden_layers),
    variants=(
        Variant(
            "tiny-qwen2",
            "q, k and v biases, tied head, sliding_window given while use_sliding_window is false",
            published={"use_sliding_window": False, "sliding_window": 8, "max_window_layers": 1},
            faults=(
                Fault("no q bias", change_weights("q_proj.bias", torch.zeros_like), f"{LAYER}.self_attn.q_proj"),
                Fault("no v bias", change_weights("v_proj.bias", torch.zeros_like), f"{LAYER}.self_attn.v_proj"),
                Fault("window used all the same", windowed, f"{LAYER}.self_attn.attention"),
            ),
        ),
    ),
)
