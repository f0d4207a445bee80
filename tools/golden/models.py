"""The two models: a tiny random Llama, and SmolLM2-135M-Instruct dequantized from its GGUF file."""

import json
from pathlib import Path

import numpy as np
import torch
from gguf import GGUFReader, dequantize
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedModel

import tokenization

TINY_SEED = 20250611
EXPECTED_SMOLLM2_CONFIG = {
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "head_dim": 64,
    "vocab_size": 49152,
    "rope_theta": 100000.0,
    "rope_scaling": None,
    "tie_word_embeddings": True,
    "hidden_act": "silu",
    "max_position_embeddings": 8192,
}


TINY_SETTINGS = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 8192,
    "rope_theta": 10000.0,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
}


def tiny_llama() -> LlamaForCausalLM:
    """A random Llama with grouped-query attention and an untied head, 98,624 parameters.

    The linear weights are larger than a trained model's (standard deviation 0.2 at width 64), so that logits spread
    over several units and the best token is clear of the second.
    """
    config = LlamaConfig(
        **TINY_SETTINGS,
        vocab_size=288,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
        dtype="float32",
        attn_implementation="eager",
    )
    model = LlamaForCausalLM(config).eval()
    generator = torch.Generator().manual_seed(TINY_SEED)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            noise = torch.randn(weight.shape, generator=generator)
            if name.endswith("norm.weight"):
                weight.copy_(1 + 0.2 * noise)
            else:
                weight.copy_(noise * (0.35 if "embed_tokens" in name or "lm_head" in name else 0.2))
    model.generation_config = GenerationConfig(bos_token_id=1, eos_token_id=2, pad_token_id=2)
    return model


def save_tiny(model: PreTrainedModel, tokenizer, directory: Path) -> None:
    """Writes a complete Hugging Face directory: weights, configuration, tokenizer and chat template."""
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    # One place for the template, the one that every reader knows; no file that only repeats the tokenizer's.
    (directory / "chat_template.jinja").unlink()
    (directory / "special_tokens_map.json").unlink()
    (directory / "model.safetensors").chmod(0o644)  # written as private to its owner
    edit_json(directory / "tokenizer_config.json", {"chat_template": tokenization.CHATML_TEMPLATE})


def edit_json(path: Path, changes: dict) -> None:
    """Sets keys of a JSON file."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}, indent=2, ensure_ascii=False) + "\n")


def smollm2(gguf_path: Path) -> LlamaForCausalLM:
    """SmolLM2-135M-Instruct in float32, checked against the file's own tensors and the published configuration."""
    model = LlamaForCausalLM.from_pretrained(
        gguf_path.parent, gguf_file=gguf_path.name, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    for key, expected in EXPECTED_SMOLLM2_CONFIG.items():
        found = getattr(model.config, key)
        if found != expected:
            raise ValueError(f"config {key}: expected {expected}, found {found}")
    if model.lm_head.weight.data_ptr() != model.model.embed_tokens.weight.data_ptr():
        raise ValueError("the head is not tied to the embedding")
    check_against_gguf(model, gguf_path)
    return model


def check_against_gguf(model: LlamaForCausalLM, gguf_path: Path) -> None:
    """Every weight equals the gguf package's dequantized tensor, to the bit, once q and k rows are put back.

    GGUF stores a head's rotated pairs side by side (row 2i beside 2i+1); Hugging Face keeps the two halves of the head
    apart (row i beside i + head_dim/2). So Hugging Face row i + half*head_dim/2 of a head is GGUF row 2i + half.
    """
    names = gguf_names(model.config.num_hidden_layers)
    half = model.config.head_dim // 2
    order = np.array([2 * i + side for side in range(2) for i in range(half)])
    seen = set()
    for tensor in GGUFReader(gguf_path).tensors:
        name = names[tensor.name]
        expected = dequantize(tensor.data, tensor.tensor_type)
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            heads = expected.reshape(-1, model.config.head_dim, expected.shape[-1])
            expected = heads[:, order].reshape(expected.shape)
        if not np.array_equal(model.get_parameter(name).detach().numpy(), expected):
            raise ValueError(f"{name}: differs from {tensor.name} as the gguf package dequantizes it")
        seen.add(name)
    missing = {name for name, _ in model.named_parameters()} - seen
    if missing:
        raise ValueError(f"not in the GGUF file: {sorted(missing)}")


def gguf_names(layers: int) -> dict[str, str]:
    """GGUF tensor name to Hugging Face weight name, for the Llama family."""
    names = {
        "token_embd.weight": "model.embed_tokens.weight",
        "output_norm.weight": "model.norm.weight",
        "output.weight": "lm_head.weight",
    }
    in_layer = {
        "attn_norm": "input_layernorm",
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj",
        "ffn_norm": "post_attention_layernorm",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
    }
    for layer in range(layers):
        for gguf_name, name in in_layer.items():
            names[f"blk.{layer}.{gguf_name}.weight"] = f"model.layers.{layer}.{name}.weight"
    return names


@torch.no_grad()
def round_to_bfloat16(model: LlamaForCausalLM) -> None:
    """Rounds every weight, norms and embedding included, to the nearest bfloat16 (ties to even); it stays float32."""
    for weight in model.parameters():
        weight.copy_(weight.to(torch.bfloat16).to(torch.float32))
