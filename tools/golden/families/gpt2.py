"""GPT-2: learned positions, LayerNorm, fused q, k and v, GELU, biases everywhere, matrices kept transposed."""

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.activations import ACT2FN

from boundaries import Boundary, in_layer
from family import Family, Fault, Variant, change_weights, set_on_modules

LAYER = "transformer.h.0"
INSIDE = (
    "ln_1",
    "attn.c_attn",
    "attn.attention",
    "attn.c_proj",
    "attn_residual",
    "ln_2",
    "mlp.c_fc",
    "mlp.act",
    "mlp.c_proj",
)
INPUTS = {"attn.attention": "attn.c_proj", "attn_residual": "ln_2", "mlp.act": "mlp.c_proj"}


def boundaries(config) -> list[Boundary]:
    tables = [Boundary(name, module=name, every_token=True) for name in ("transformer.wte", "transformer.wpe")]
    total = Boundary("transformer.embed", "input", LAYER, every_token=True)
    rest = [Boundary(f"transformer.h.{layer}", module=f"transformer.h.{layer}") for layer in range(1, config.n_layer)]
    ends = [Boundary(name, module=name) for name in ("transformer.ln_f", "lm_head")]
    return [*tables, total, *in_layer(LAYER, INSIDE, INPUTS), *rest, *ends]


def without_mean(module) -> None:
    """RMSNorm with LayerNorm's weights."""
    module.forward = lambda x: nn.functional.rms_norm(x, x.shape[-1:], eps=module.eps) * module.weight + module.bias


def positions_from_1(model) -> None:
    table = model.transformer.wpe.weight.data
    model.transformer.wpe.weight.data = torch.roll(table, -1, 0)


GPT2 = Family(
    model_class=GPT2LMHeadModel,
    config_class=GPT2Config,
    seed=1,
    settings={
        "n_embd": 64,
        "n_layer": 2,
        "n_head": 4,
        "n_positions": 96,
        "layer_norm_epsilon": 1e-5,
        "activation_function": "gelu_new",
    },
    boundaries=boundaries,
    variants=(
        Variant(
            "tiny-gpt2",
            "learned positions, LayerNorm, fused q, k and v, GELU by tanh, tied head",
            faults=(
                Fault("positions counted from 1", positions_from_1, "transformer.wpe"),
                Fault(
                    "RMSNorm in place of LayerNorm",
                    lambda model: without_mean(model.transformer.h[0].ln_1),
                    f"{LAYER}.ln_1",
                ),
                Fault("no c_attn bias", change_weights("c_attn.bias", torch.zeros_like), f"{LAYER}.attn.c_attn"),
                Fault("GELU by erf", set_on_modules("mlp", act=ACT2FN["gelu"]), f"{LAYER}.mlp.act"),
            ),
        ),
    ),
)
