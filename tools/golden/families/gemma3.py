"""Gemma 3 (text): five local layers to one global, each kind with a RoPE of its own, q and k normed per head."""

from transformers import Gemma3ForCausalLM, Gemma3TextConfig

from boundaries import GATED_LAYER, Boundary, decoder
from families.gemma2 import INPUTS, SCALED_BY_HEAD_DIM, WITHOUT_1, outlines, with_outer_norms
from families.qwen3 import with_head_norms
from family import Family, Fault, Variant, set_config, set_on_modules, skip_modules

LAYER, GLOBAL = "model.layers.0", "model.layers.5"


def boundaries(config) -> list[Boundary]:
    """Inside the first local layer and the first global one."""
    inside = with_head_norms(with_outer_norms(GATED_LAYER))
    return decoder(config.num_hidden_layers, {0: inside, 5: inside}, INPUTS)


def swap(to: str, of: str):
    """One rotary module in place of the other."""

    def change(model):
        setattr(model.model, to, getattr(model.model, of))

    return change


def unscaled_embedding(model) -> None:
    model.model.embed_tokens.embed_scale.fill_(1)


def undivided(model) -> None:
    rotary = model.model.rotary_emb
    rotary.inv_freq = rotary.inv_freq * 8


GEMMA3 = Family(
    model_class=Gemma3ForCausalLM,
    config_class=Gemma3TextConfig,
    seed=1,
    centre_of_norms=0.0,
    settings={
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 7,
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "query_pre_attn_scalar": 16,
        "max_position_embeddings": 8192,
        "rope_theta": 1000000.0,
        "rope_local_base_freq": 10000.0,
        "rms_norm_eps": 1e-6,
        "sliding_window": 8,
        "hidden_activation": "gelu_pytorch_tanh",
    },
    boundaries=boundaries,
    variants=(
        Variant(
            "tiny-gemma3",
            "windows of 8 on six of seven layers, RoPE bases 10,000 (local) and 1,000,000 (layer 5)",
            faults=(
                Fault("embedding not scaled", unscaled_embedding, "model.embed_tokens"),
                Fault("norm weights without the + 1", WITHOUT_1, f"{LAYER}.input_layernorm"),
                Fault("no q norm", skip_modules("q_norm"), f"{LAYER}.self_attn.q_norm"),
                Fault(
                    "local layers with the global base",
                    swap("rotary_emb_local", "rotary_emb"),
                    f"{LAYER}.self_attn.q_rope",
                ),
                Fault(
                    "global layers with the local base",
                    swap("rotary_emb", "rotary_emb_local"),
                    f"{GLOBAL}.self_attn.q_rope",
                ),
                Fault("window one position too long", set_config(sliding_window=9), f"{LAYER}.self_attn.attention"),
                Fault(
                    "window on the global layer",
                    set_on_modules("layers.5", attention_type="sliding_attention"),
                    f"{GLOBAL}.self_attn.attention",
                ),
            ),
        ),
        Variant(
            "tiny-gemma3-scalar",
            "query_pre_attn_scalar 20 with head_dim 16; the weights of tiny-gemma3",
            settings={"query_pre_attn_scalar": 20},
            boundaries=outlines,
            faults=(SCALED_BY_HEAD_DIM,),
        ),
        Variant(
            "tiny-gemma3-linear",
            "positions of the global layer divided by 8, those of the local ones not; the weights of tiny-gemma3",
            settings={"rope_scaling": {"rope_type": "linear", "factor": 8.0}},
            faults=(
                Fault("positions not divided", undivided, f"{GLOBAL}.self_attn.q_rope"),
                Fault(
                    "positions divided on local layers too",
                    lambda model: setattr(
                        model.model.rotary_emb_local, "inv_freq", model.model.rotary_emb_local.inv_freq / 8
                    ),
                    f"{LAYER}.self_attn.q_rope",
                ),
            ),
        ),
    ),
)
