"""Gemma 2: norms around both blocks that add 1 to their weight, soft caps, windows on alternate layers."""

import torch
from transformers import Gemma2Config, Gemma2ForCausalLM

from boundaries import GATED_LAYER, Boundary, decoder
from family import Family, Fault, Variant, change_weights, set_config, set_on_modules

LAYER = "model.layers.0"

# The stream after attention is read by pre_feedforward_layernorm; attention's own output is normed before it is added.
INPUTS = {
    "self_attn.attention": "self_attn.o_proj",
    "attn_residual": "pre_feedforward_layernorm",
    "mlp.act": "mlp.down_proj",
}


def with_outer_norms(names: tuple[str, ...]) -> tuple[str, ...]:
    """The boundaries of a layer whose blocks are normed before and after."""
    place = names.index("attn_residual")
    after = (
        "post_attention_layernorm",
        "attn_residual",
        "pre_feedforward_layernorm",
        "mlp.gate_proj",
        "mlp.up_proj",
        "mlp.act",
        "mlp.down_proj",
        "post_feedforward_layernorm",
    )
    return (*names[:place], *after)


def boundaries(config) -> list[Boundary]:
    """Inside layers 0 (window) and 1 (none). The embedding is scaled outside its module, logits are capped last."""
    inside = with_outer_norms(GATED_LAYER)
    embedded, *rest, _ = decoder(config.num_hidden_layers, {0: inside, 1: inside}, INPUTS)
    embedded = Boundary(embedded.name, "input", LAYER, every_token=True)
    return [embedded, *rest, Boundary("lm_head.linear", module="lm_head"), Boundary("lm_head", "logits")]


def unscaled_embedding(model) -> None:
    """Undoes the multiplication by sqrt(hidden_size) that the forward does; the head keeps its weights."""
    table = model.model.embed_tokens
    head = model.lm_head.weight.data.clone()
    model.lm_head.weight = torch.nn.Parameter(head)
    table.weight.data = head / model.config.hidden_size**0.5


def outlines(config) -> list[Boundary]:
    """The attention of layer 0 and what comes out, where the rest is in another fixture."""
    places = decoder(
        config.num_hidden_layers, {0: ("self_attn.attention",)}, {"self_attn.attention": "self_attn.o_proj"}
    )
    return [*places[1:-1], Boundary("lm_head", "logits")]


SCALED_BY_HEAD_DIM = Fault(
    "scores divided by sqrt(head_dim)", set_on_modules("self_attn", scaling=16**-0.5), f"{LAYER}.self_attn.attention"
)
WITHOUT_1 = change_weights("norm.weight", lambda weight: weight - 1)

GEMMA2 = Family(
    model_class=Gemma2ForCausalLM,
    config_class=Gemma2Config,
    seed=1,
    centre_of_norms=0.0,
    settings={
        "hidden_size": 64,
        "intermediate_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "query_pre_attn_scalar": 16,
        "max_position_embeddings": 8192,
        "rope_theta": 10000.0,
        "rms_norm_eps": 1e-6,
        "sliding_window": 8,
        # Small, so that they bend what these weights give; trained models have 50 and 30.
        "attn_logit_softcapping": 3.0,
        "final_logit_softcapping": 8.0,
        "hidden_activation": "gelu_pytorch_tanh",
    },
    boundaries=boundaries,
    variants=(
        Variant(
            "tiny-gemma2",
            "soft caps of 3 and 8, windows of 8 on layers 0 and 2",
            faults=(
                Fault("embedding not scaled", unscaled_embedding, "model.embed_tokens"),
                Fault("norm weights without the + 1", WITHOUT_1, f"{LAYER}.input_layernorm"),
                Fault(
                    "scores not capped",
                    set_on_modules("self_attn", attn_logit_softcapping=None),
                    f"{LAYER}.self_attn.attention",
                ),
                Fault("window one position too long", set_config(sliding_window=9), f"{LAYER}.self_attn.attention"),
                Fault(
                    "window on every layer",
                    set_on_modules("layers.1", attention_type="sliding_attention"),
                    "model.layers.1.self_attn.attention",
                ),
                Fault("logits not capped", set_config(final_logit_softcapping=None), "lm_head"),
            ),
        ),
        Variant(
            "tiny-gemma2-scalar",
            "query_pre_attn_scalar 20 with head_dim 16; the weights of tiny-gemma2",
            settings={"query_pre_attn_scalar": 20},
            boundaries=outlines,
            faults=(SCALED_BY_HEAD_DIM,),
        ),
    ),
)
