"""Records what Transformers computes at every boundary of a step: inside chosen layers, then each layer's output.

A boundary is named after the module whose output it is. The ones between modules have names of their own:
`self_attn.q_rope` and `k_rope` (after rotation), `self_attn.attention` (heads joined, before o_proj), `attn_residual`
(the residual stream after attention) and `mlp.act` (activation(gate) * up).
"""

import sys
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from unittest.mock import patch

import torch
from transformers import DynamicCache, PreTrainedModel


@dataclass(frozen=True)
class Boundary:
    """One recorded value: the `output` or `input` of a module, a `rotation` inside a layer, or the model's `logits`."""

    name: str
    kind: str = "output"
    module: str = ""
    every_token: bool = False  # else the last one of the step


# Inside a layer of the Llama kind, in the order of computation.
GATED_LAYER = (
    "input_layernorm",
    "self_attn.q_proj",
    "self_attn.k_proj",
    "self_attn.v_proj",
    "self_attn.q_rope",
    "self_attn.k_rope",
    "self_attn.attention",
    "self_attn.o_proj",
    "attn_residual",
    "post_attention_layernorm",
    "mlp.gate_proj",
    "mlp.up_proj",
    "mlp.act",
    "mlp.down_proj",
)

# Boundaries between modules, as the input of the module that follows.
GATED_INPUTS = {
    "self_attn.attention": "self_attn.o_proj",
    "attn_residual": "post_attention_layernorm",
    "mlp.act": "mlp.down_proj",
}


def in_layer(prefix: str, names, inputs: dict[str, str]) -> list[Boundary]:
    """Boundaries inside the layer `prefix` and its output, for every token of the step."""
    inside = []
    for name in names:
        if name.endswith("_rope"):
            inside.append(Boundary(f"{prefix}.{name}", "rotation", prefix, True))
        elif name in inputs:
            inside.append(Boundary(f"{prefix}.{name}", "input", f"{prefix}.{inputs[name]}", True))
        else:
            inside.append(Boundary(f"{prefix}.{name}", "output", f"{prefix}.{name}", True))
    return [*inside, Boundary(prefix, "output", prefix, True)]


def decoder(layers: int, detailed: dict[int, tuple], inputs=GATED_INPUTS) -> list[Boundary]:
    """Every boundary in the order of computation; `detailed` gives the names inside the layers that are looked into."""
    found = [Boundary("model.embed_tokens", "output", "model.embed_tokens", True)]
    for layer in range(layers):
        prefix = f"model.layers.{layer}"
        found += in_layer(prefix, detailed[layer], inputs) if layer in detailed else [Boundary(prefix, module=prefix)]
    return [*found, Boundary("model.norm", module="model.norm"), Boundary("lm_head", module="lm_head")]


def llama(layers: int) -> list[Boundary]:
    return decoder(layers, {0: GATED_LAYER})


@torch.no_grad()
def record_step(
    model: PreTrainedModel, boundaries: list[Boundary], ids: list[int], cache: DynamicCache
) -> dict[str, torch.Tensor]:
    """Runs `ids` after what is in `cache` and returns every boundary as [rows, width]."""
    recorded: dict[str, torch.Tensor] = {}
    modules = dict(model.named_modules())
    with ExitStack() as stack:
        stack.enter_context(record_rotations(model, recorded))
        for boundary in boundaries:
            if boundary.kind == "output":
                handle = modules[boundary.module].register_forward_hook(keep_output(recorded, boundary.name, len(ids)))
                stack.callback(handle.remove)
            elif boundary.kind == "input":
                hook = keep_input(recorded, boundary.name, len(ids))
                stack.callback(modules[boundary.module].register_forward_pre_hook(hook).remove)
        output = model(input_ids=torch.tensor([ids]), past_key_values=cache, use_cache=True, logits_to_keep=1)
    recorded |= {boundary.name: output.logits[0].clone() for boundary in boundaries if boundary.kind == "logits"}
    return {
        name: recorded[name] if every_token else recorded[name][-1:].clone()
        for name, every_token in ((boundary.name, boundary.every_token) for boundary in boundaries)
    }


def keep_input(recorded, name, tokens):
    def hook(_module, arguments):
        recorded[name] = rows(arguments[0], tokens)

    return hook


def keep_output(recorded, name, tokens):
    def hook(_module, _arguments, output):
        recorded[name] = rows(output[0] if isinstance(output, tuple) else output, tokens)

    return hook


def rows(value, tokens):
    """[1, tokens, ...] or [tokens, ...] to [tokens, width]; the head gives one row, whatever the step has.

    Gemma 3 norms heads as [1, heads, tokens, head_dim], Qwen3 as [1, tokens, heads, head_dim].
    """
    if value.dim() == 4 and value.shape[1] != tokens:
        value = value.transpose(1, 2)
    kept = 1 if tokens > value.numel() // value.shape[-1] else tokens
    return value.reshape(kept, -1).clone()


@contextmanager
def record_rotations(model, recorded):
    """Keeps the rotated q and k of every layer; they exist only inside the attention module's forward."""
    modeling = sys.modules[type(model).__module__]
    rotate = getattr(modeling, "apply_rotary_pos_emb", None)
    layer = 0

    def recording(*arguments, **keywords):
        nonlocal layer
        q, k = rotate(*arguments, **keywords)
        for name, value in (("q_rope", q), ("k_rope", k)):
            # [1, heads, tokens, head_dim] to [tokens, heads * head_dim]
            joined = value[0].transpose(0, 1).reshape(value.shape[2], -1).clone()
            recorded[f"model.layers.{layer}.self_attn.{name}"] = joined
        layer += 1
        return q, k

    with patch.object(modeling, "apply_rotary_pos_emb", recording) if rotate else nullcontext():
        yield


def layer_0_cache(cache: DynamicCache) -> dict[str, torch.Tensor]:
    """Keys (after rotation) and values of layer 0 as [positions, kv_heads, head_dim]."""
    layer = cache.layers[0]
    return {
        "k": layer.keys[0].transpose(0, 1).contiguous().clone(),
        "v": layer.values[0].transpose(0, 1).contiguous().clone(),
    }
