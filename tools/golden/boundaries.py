"""Records what Transformers computes at every boundary of a step: all of layer 0, then each layer's output.

A boundary is named after the module whose output it is. The ones between modules have names of their own:
`self_attn.q_rope` and `k_rope` (after rotation), `self_attn.attention` (heads joined, before o_proj), `attn_residual`
(the residual stream after attention) and `mlp.act` (silu(gate) * up).
"""

from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import torch
from transformers import DynamicCache, LlamaForCausalLM
from transformers.models.llama import modeling_llama

LAYER_0 = [
    "model.embed_tokens",
    "model.layers.0.input_layernorm",
    "model.layers.0.self_attn.q_proj",
    "model.layers.0.self_attn.k_proj",
    "model.layers.0.self_attn.v_proj",
    "model.layers.0.self_attn.q_rope",
    "model.layers.0.self_attn.k_rope",
    "model.layers.0.self_attn.attention",
    "model.layers.0.self_attn.o_proj",
    "model.layers.0.attn_residual",
    "model.layers.0.post_attention_layernorm",
    "model.layers.0.mlp.gate_proj",
    "model.layers.0.mlp.up_proj",
    "model.layers.0.mlp.act",
    "model.layers.0.mlp.down_proj",
    "model.layers.0",
]

# Boundaries between modules, as the input of the module that follows.
INPUT_OF = {
    "model.layers.0.self_attn.attention": "model.layers.0.self_attn.o_proj",
    "model.layers.0.attn_residual": "model.layers.0.post_attention_layernorm",
    "model.layers.0.mlp.act": "model.layers.0.mlp.down_proj",
}


def names(layers: int) -> list[str]:
    """Every boundary name in the order of computation. Layer 0's hold all tokens of the step, the others the last."""
    return LAYER_0 + [f"model.layers.{layer}" for layer in range(1, layers)] + ["model.norm", "lm_head"]


@torch.no_grad()
def record_step(model: LlamaForCausalLM, ids: list[int], cache: DynamicCache) -> dict[str, torch.Tensor]:
    """Runs `ids` after what is in `cache` and returns every boundary as float32 [rows, width]."""
    recorded: dict[str, torch.Tensor] = {}
    modules = dict(model.named_modules())
    with ExitStack() as stack:
        stack.enter_context(record_rotation(recorded))
        for name in names(model.config.num_hidden_layers):
            if name.endswith("_rope"):
                continue
            if name in INPUT_OF:
                handle = modules[INPUT_OF[name]].register_forward_pre_hook(keep_input(recorded, name))
            else:
                handle = modules[name].register_forward_hook(keep_output(recorded, name))
            stack.callback(handle.remove)
        model(input_ids=torch.tensor([ids]), past_key_values=cache, use_cache=True, logits_to_keep=1)
    return {
        name: recorded[name] if name in LAYER_0 else recorded[name][-1:].clone()
        for name in names(model.config.num_hidden_layers)
    }


def keep_input(recorded, name):
    def hook(_module, arguments):
        recorded[name] = arguments[0][0].clone()

    return hook


def keep_output(recorded, name):
    def hook(_module, _arguments, output):
        recorded[name] = output[0].clone()

    return hook


@contextmanager
def record_rotation(recorded):
    """Keeps the rotated q and k of the first layer; they exist only inside the attention module's forward."""
    rotate = modeling_llama.apply_rotary_pos_emb

    def recording(*arguments, **keywords):
        q, k = rotate(*arguments, **keywords)
        for name, value in (("q_rope", q), ("k_rope", k)):
            # [1, heads, tokens, head_dim] to [tokens, heads * head_dim]; later layers leave the first one's alone.
            joined = value[0].transpose(0, 1).reshape(value.shape[2], -1).clone()
            recorded.setdefault(f"model.layers.0.self_attn.{name}", joined)
        return q, k

    with patch.object(modeling_llama, "apply_rotary_pos_emb", recording):
        yield


def layer_0_cache(cache: DynamicCache) -> dict[str, torch.Tensor]:
    """Keys (after rotation) and values of layer 0 as [positions, kv_heads, head_dim]."""
    layer = cache.layers[0]
    return {
        "k": layer.keys[0].transpose(0, 1).contiguous().clone(),
        "v": layer.values[0].transpose(0, 1).contiguous().clone(),
    }
