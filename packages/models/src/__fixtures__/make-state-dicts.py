"""Configs of tiny models as Transformers writes them, and the tensors of their checkpoints with their shapes.

    python make-state-dicts.py > state-dicts.json     (transformers 4.57.6, torch 2.9.1)
"""

import json

import torch
import transformers

SIZES = dict(vocab_size=40, hidden_size=24, intermediate_size=20, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0)  # fmt: skip
GPT2_SIZES = dict(vocab_size=40, n_embd=24, n_layer=2, n_head=4, n_positions=64, bos_token_id=1, eos_token_id=2)

MODELS = {
    "llama": ("Llama", dict(tie_word_embeddings=True)),
    "llama with biases": ("Llama", dict(attention_bias=True, mlp_bias=True)),
    "mistral": ("Mistral", dict(sliding_window=16)),
    "qwen2": ("Qwen2", dict(tie_word_embeddings=True)),
    "qwen2 with windows": ("Qwen2", dict(use_sliding_window=True, sliding_window=16, max_window_layers=1)),
    "qwen3": ("Qwen3", dict(head_dim=8)),
    "qwen3 with biases": ("Qwen3", dict(head_dim=8, attention_bias=True, tie_word_embeddings=True)),
    "qwen3-moe": ("Qwen3Moe", dict(head_dim=8, num_experts=3, num_experts_per_tok=2, moe_intermediate_size=12,
                                   mlp_only_layers=[0], norm_topk_prob=True)),  # fmt: skip
    "gpt2": ("GPT2", dict()),
    "gemma2": ("Gemma2", dict(head_dim=8, query_pre_attn_scalar=12, sliding_window=16)),
    "gemma3": ("Gemma3", dict(head_dim=8, sliding_window=16, sliding_window_pattern=2)),
    "gemma3 with biases": ("Gemma3", dict(head_dim=8, attention_bias=True, final_logit_softcapping=20.0)),
    "phi3": ("Phi3", dict(rope_scaling=dict(type="longrope", short_factor=[1.0] * 3, long_factor=[2.0] * 3),
                          original_max_position_embeddings=16, sliding_window=8)),  # fmt: skip
}


def describe(family, settings):
    name = {"GPT2": "GPT2LMHeadModel"}.get(family, f"{family}ForCausalLM")
    config_class = getattr(transformers, {"Gemma3": "Gemma3TextConfig"}.get(family, f"{family}Config"))
    config = config_class(**(GPT2_SIZES if family == "GPT2" else SIZES), **settings)
    with torch.device("meta"):
        model = getattr(transformers, name)(config)
    tensors = {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
    if config.tie_word_embeddings:
        del tensors["lm_head.weight"]  # save_pretrained leaves it out
    return {"config": {**json.loads(config.to_json_string()), "architectures": [name]}, "tensors": tensors}


entries = [f"{json.dumps(key)}: {json.dumps(describe(*value))}" for key, value in MODELS.items()]
print("{\n" + ",\n".join(entries) + "\n}")
