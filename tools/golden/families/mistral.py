"""Mistral: Llama with a sliding window."""

from transformers import MistralConfig, MistralForCausalLM

from boundaries import llama
from family import Family, Fault, Variant, set_config

ATTENTION = "model.layers.0.self_attn.attention"

MISTRAL = Family(
    model_class=MistralForCausalLM,
    config_class=MistralConfig,
    seed=2,
    settings={
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "max_position_embeddings": 8192,
        "rope_theta": 10000.0,
        "rms_norm_eps": 1e-5,
        "sliding_window": 8,
    },
    boundaries=lambda config: llama(config.num_hidden_layers),
    variants=(
        Variant(
            "tiny-mistral",
            "a sliding window of 8, shorter than the prompt",
            faults=(
                Fault("window one position too long", set_config(sliding_window=9), ATTENTION),
                Fault("window one position too short", set_config(sliding_window=7), ATTENTION),
                Fault("no window", set_config(sliding_window=None), ATTENTION),
            ),
        ),
        Variant(
            "tiny-mistral-full",
            "no sliding window (null), as later Mistral models have it; the weights of tiny-mistral",
            settings={"sliding_window": None},
            faults=(Fault("a window all the same", set_config(sliding_window=8), ATTENTION),),
        ),
    ),
)
