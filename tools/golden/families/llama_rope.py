"""Llama with scaled RoPE: one fixture per type, all over the weights of tiny-llama."""

from transformers import LlamaConfig, LlamaForCausalLM

import models
import rope
from boundaries import Boundary, decoder
from family import Family, Fault, Variant
from greedy import Prompt, chat

PREFIX = "model.layers.0"
Q_ROPE = f"{PREFIX}.self_attn.q_rope"


ATTENTION_INPUT = {"self_attn.attention": "self_attn.o_proj"}


def boundaries(config) -> list[Boundary]:
    """The rest is in tiny-llama already: what RoPE changes, and what comes out."""
    inside = ("self_attn.q_rope", "self_attn.k_rope", "self_attn.attention")
    return decoder(config.num_hidden_layers, {0: inside}, ATTENTION_INPUT)


def unscaled(model) -> None:
    """The frequencies and the attention scaling of the default type."""
    rotary = model.model.rotary_emb
    rotary.inv_freq = rope.inverse_frequencies(model.config.rope_theta, model.config.head_dim)
    rotary.scaling = 1.0


def set_rotary(**attributes):
    return lambda model: [setattr(model.model.rotary_emb, key, value) for key, value in attributes.items()]


def halved_factor(model) -> None:
    model.model.rotary_emb.inv_freq = model.model.rotary_emb.inv_freq * 2


PROMPTS = (
    Prompt("english", "A rainy day in the winter"),
    Prompt("scripts", "naïve café 日本語"),
    chat("chat", ("user", "Hi there")),
    Prompt("long", "The rain in the street and the wind in the trees, all day long. " * 2),
)

LLAMA_ROPE = Family(
    model_class=LlamaForCausalLM,
    config_class=LlamaConfig,
    settings=models.TINY_SETTINGS,
    weights="tiny-llama",
    prompts=PROMPTS,
    boundaries=boundaries,
    variants=(
        Variant(
            "tiny-llama-linear",
            "positions divided by 4",
            settings={"rope_scaling": {"rope_type": "linear", "factor": 4.0}},
            faults=(Fault("no scaling", unscaled, Q_ROPE), Fault("factor 2 in place of 4", halved_factor, Q_ROPE)),
        ),
        Variant(
            "tiny-llama-dynamic",
            "dynamic NTK, factor 4: a context of 256, the longest, over 64 positions of training",
            settings={"max_position_embeddings": 64, "rope_scaling": {"rope_type": "dynamic", "factor": 4.0}},
            context_length=256,
            faults=(Fault("frequencies of the length that was trained", unscaled, Q_ROPE),),
        ),
        Variant(
            "tiny-llama-yarn",
            "YaRN, factor 4 over 1,024 positions: kept, blended and divided frequencies, attention scaling",
            settings={
                "max_position_embeddings": 4096,
                "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024},
            },
            faults=(
                Fault("no scaling", unscaled, Q_ROPE),
                Fault("no attention scaling", set_rotary(scaling=1.0), Q_ROPE),
            ),
        ),
        Variant(
            "tiny-llama-llama3",
            "Llama 3: frequencies kept, smoothed and divided by 8 over 1,024 positions",
            settings={
                "max_position_embeddings": 8192,
                "rope_scaling": {
                    "rope_type": "llama3",
                    "factor": 8.0,
                    "low_freq_factor": 1.0,
                    "high_freq_factor": 4.0,
                    "original_max_position_embeddings": 1024,
                },
            },
            faults=(Fault("no scaling", unscaled, Q_ROPE),),
        ),
    ),
)
