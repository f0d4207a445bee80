"""Qwen3: q and k normed per head before the rotation, heads wider than hidden_size / heads."""

from transformers import Qwen3Config, Qwen3ForCausalLM

from boundaries import GATED_LAYER, decoder
from family import Family, Fault, Variant, change_weights, skip_modules

LAYER = "model.layers.0"


def with_head_norms(names: tuple[str, ...]) -> tuple[str, ...]:
    """The boundaries of a layer with q_norm and k_norm between projection and rotation."""
    place = names.index("self_attn.q_rope")
    return (*names[:place], "self_attn.q_norm", "self_attn.k_norm", *names[place:])


QWEN3 = Family(
    model_class=Qwen3ForCausalLM,
    config_class=Qwen3Config,
    seed=1,
    settings={
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 24,
        "max_position_embeddings": 8192,
        "rope_theta": 1000000.0,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": True,
    },
    boundaries=lambda config: decoder(config.num_hidden_layers, {0: with_head_norms(GATED_LAYER)}),
    variants=(
        Variant(
            "tiny-qwen3",
            "q and k norms, head_dim 24 with 4 heads over a width of 64, tied head",
            faults=(
                Fault("no q norm", skip_modules("q_norm"), f"{LAYER}.self_attn.q_norm"),
                Fault("no k norm", skip_modules("k_norm"), f"{LAYER}.self_attn.k_norm"),
                Fault(
                    "weights of the q norm in reverse",
                    change_weights("q_norm.weight", lambda weight: weight.flip(0)),
                    f"{LAYER}.self_attn.q_norm",
                ),
            ),
        ),
    ),
)
