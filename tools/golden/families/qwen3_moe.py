"""Qwen3 MoE: Qwen3 with a router that sends each token to a few of the experts."""

import torch
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

from boundaries import GATED_LAYER, decoder
from families.qwen3 import with_head_norms
from family import Family, Fault, Variant, set_on_modules

LAYER = "model.layers.0"
SMALLEST_ROUTER_GAP = 1e-3  # router logits are within 1e-5 of their values


DENSE = with_head_norms(GATED_LAYER)
EXPERTS = (*DENSE[: DENSE.index("mlp.gate_proj")], "mlp.gate", "mlp")


@torch.no_grad()
def clear_choices(model, sequences: list[list[int]]) -> None:
    """Every token's last chosen expert is clear of the first one left out, so that rounding cannot swap them."""
    for ids in sequences:
        logits = model(input_ids=torch.tensor([ids]), output_router_logits=True).router_logits
        for layer, rows in enumerate(logits):
            best = rows.topk(model.config.num_experts_per_tok + 1).values
            gap = (best[:, -2] - best[:, -1]).min().item()
            if gap < SMALLEST_ROUTER_GAP:
                raise ValueError(f"router {layer} is near a tie: {gap:.2g}, choose another seed")


SETTINGS = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "moe_intermediate_size": 32,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "num_experts": 8,
    "norm_topk_prob": True,
    "decoder_sparse_step": 1,
    "max_position_embeddings": 8192,
    "rope_theta": 1000000.0,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
}
NOT_NORMALISED = Fault("weights not normalised", set_on_modules("mlp", norm_topk_prob=False), f"{LAYER}.mlp")


def swapped_experts(model) -> None:
    experts = model.model.layers[0].mlp.experts
    experts.insert(0, experts.pop(1))


QWEN3_MOE = Family(
    model_class=Qwen3MoeForCausalLM,
    config_class=Qwen3MoeConfig,
    seed=1,
    settings={**SETTINGS, "num_hidden_layers": 2, "num_experts_per_tok": 2},
    boundaries=lambda config: decoder(config.num_hidden_layers, {0: EXPERTS}),
    check=clear_choices,
    variants=(
        Variant(
            "tiny-qwen3-moe",
            "2 of 8 experts on every layer, weights of the chosen experts normalised",
            faults=(NOT_NORMALISED, Fault("experts 0 and 1 swapped", swapped_experts, f"{LAYER}.mlp")),
        ),
    ),
)

QWEN3_MOE_MIXED = Family(
    model_class=Qwen3MoeForCausalLM,
    config_class=Qwen3MoeConfig,
    seed=1,
    settings={**SETTINGS, "num_hidden_layers": 3, "num_experts_per_tok": 3, "mlp_only_layers": [1]},
    boundaries=lambda config: decoder(config.num_hidden_layers, {0: EXPERTS, 1: DENSE}),
    check=clear_choices,
    variants=(
        Variant(
            "tiny-qwen3-moe-mixed",
            "3 of 8 experts on layers 0 and 2, a dense layer 1",
            faults=(
                NOT_NORMALISED,
                Fault("2 experts in place of 3", set_on_modules("mlp", top_k=2), f"{LAYER}.mlp"),
            ),
        ),
    ),
)
