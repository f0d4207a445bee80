"""Rotary frequencies as Transformers computes them, one case per line of frequencies.json.

    python make-frequencies.py > frequencies.json     (transformers 4.57.6, torch 2.9.1)

A case is a config in the keys of config.json, the configured context length (null: the one of the config), the bits of the
float32 frequencies and the attention factor.
"""

import json
from types import SimpleNamespace

import torch
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

torch.set_num_threads(1)

LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
YARN = {"rope_type": "yarn", "factor": 4.0}
SHORT = [1.0 + 0.05 * i for i in range(6)]
LONG = [1.5 * 1.7**i for i in range(6)]
LONGROPE = {"rope_type": "longrope", "short_factor": SHORT, "long_factor": LONG}

CASES = [
    (dict(), None),
    (dict(rope_theta=500000.0, head_dim=64), None),
    (dict(rope_theta=1e6, head_dim=128), None),
    (dict(head_dim=24, partial_rotary_factor=0.5), None),
    (dict(rope_scaling={"rope_type": "linear", "factor": 3.5}), None),
    (dict(rope_theta=1e6, head_dim=256, rope_scaling={"rope_type": "linear", "factor": 8.0}), None),
    (dict(rope_scaling={"rope_type": "dynamic", "factor": 2.0}), None),
    (dict(rope_scaling={"rope_type": "dynamic", "factor": 2.0}, max_position_embeddings=2048), 4096),
    (dict(rope_scaling={"rope_type": "dynamic", "factor": 4.0}, head_dim=64, max_position_embeddings=64), 200),
    (dict(rope_scaling={"rope_type": "dynamic", "factor": 2.5}, head_dim=128, max_position_embeddings=100), 101),
    (dict(rope_theta=500000.0, head_dim=128, rope_scaling={**LLAMA3, "original_max_position_embeddings": 8192}), None),
    (dict(rope_theta=500000.0, head_dim=64, rope_scaling={**LLAMA3, "factor": 32.0, "original_max_position_embeddings": 8192}), None),
    (dict(rope_theta=10000.0, head_dim=16, rope_scaling={**LLAMA3, "factor": 3.0, "low_freq_factor": 1.5, "high_freq_factor": 5.5, "original_max_position_embeddings": 200}), None),
    (dict(rope_theta=1e6, head_dim=128, rope_scaling={**YARN, "original_max_position_embeddings": 32768}, max_position_embeddings=131072), None),
    (dict(rope_scaling=YARN), None),
    (dict(rope_scaling={**YARN, "attention_factor": 1.25, "beta_fast": 16.0, "beta_slow": 2.0}, head_dim=64), None),
    (dict(rope_scaling={**YARN, "factor": 40.0, "mscale": 1.0, "mscale_all_dim": 0.707}, head_dim=64, max_position_embeddings=4096), None),
    (dict(rope_scaling={**YARN, "mscale": 0.9}, head_dim=64), None),
    (dict(rope_scaling={**YARN, "truncate": False}, head_dim=64), None),
    (dict(rope_scaling={**YARN, "original_max_position_embeddings": 16}, head_dim=8), None),
    (dict(head_dim=12, rope_scaling=LONGROPE, max_position_embeddings=64, original_max_position_embeddings=16), None),
    (dict(head_dim=12, rope_scaling=LONGROPE, max_position_embeddings=64, original_max_position_embeddings=16), 16),
    (dict(head_dim=12, rope_scaling=LONGROPE, max_position_embeddings=64, original_max_position_embeddings=16), 17),
    (dict(head_dim=16, partial_rotary_factor=0.75, rope_scaling=LONGROPE, max_position_embeddings=131072, original_max_position_embeddings=4096), 8192),
    (dict(head_dim=12, rope_scaling={**LONGROPE, "factor": 4.0}, max_position_embeddings=16), 64),
    (dict(head_dim=12, rope_scaling={**LONGROPE, "attention_factor": 1.1, "factor": 4.0}, max_position_embeddings=16), None),
]


def case(changes, context_length):
    config = {"rope_theta": 10000.0, "head_dim": 16, "max_position_embeddings": 1024, **changes}
    scaling = config.get("rope_scaling") or {"rope_type": "default"}
    namespace = SimpleNamespace(hidden_size=64, num_attention_heads=4, **{"rope_scaling": None, **config})
    # LongRoPE is made for the longest sequence here, as the others are, instead of for the one at hand.
    seq_len = context_length or config["max_position_embeddings"]
    frequencies, factor = ROPE_INIT_FUNCTIONS[scaling["rope_type"]](namespace, "cpu", seq_len=seq_len)
    bits = [value & 0xFFFFFFFF for value in frequencies.view(torch.int32).tolist()]
    return {"config": config, "context_length": context_length, "attention_factor": factor, "bits": bits}


print("[\n" + ",\n".join(json.dumps(case(*arguments)) for arguments in CASES) + "\n]")
