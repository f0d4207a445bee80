"""Greedy continuations of the models that can be pulled by name, with the weights of their files in float32.

Writes one small manifest per model to packages/golden/fixtures/real/greedy: texts and ids, no weights. Usage:

    .venv/bin/python real.py gemma3:270m=FILE.gguf [NAME=FILE.gguf ...]
"""

import argparse
import importlib.metadata
import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # everything comes from the verified files

import torch
from gguf import GGUFReader
from transformers import DynamicCache

import real_models
from real_models import GEMMA3_270M, QWEN25_CODER_05B, QWEN25_CODER_15B, SMOLLM2, RealModel
from write import pretty

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ["torch", "transformers", "tokenizers", "gguf", "numpy"]
MAX_TOKENS = 24

# Float32 programs with the same weights differ by some 1e-4 in these models' logits (tools/golden/README.md has what was
# measured for SmolLM2), so a gap of 0.01 leaves no doubt which token is the best.
SMALLEST_GAP = 0.01

RAW = {
    "story": "Once upon a time, in a small village",
    "code": "def is_even(n):\n    return",
    "cyrillic": "Столица Франции — город",
    "list": "The days of the week are Monday, Tuesday,",
    "facts": "Water boils at 100 degrees",
}
CHATS = {
    "capital": [("user", "What is the capital of France?")],
    "system": [
        ("system", "You answer in one short sentence."),
        ("user", "Why is the sky blue?"),
    ],
    "turns": [
        ("user", "Name a fruit."),
        ("assistant", "Apple."),
        ("user", "Name another one, please."),
    ],
}

# A prompt whose gap is too small is replaced by another one; the rule is never loosened.
PROMPTS: dict[str, list[str]] = {
    SMOLLM2.name: ["story", "code", "cyrillic", "capital", "turns"],
    QWEN25_CODER_05B.name: ["story", "code", "cyrillic", "capital", "system"],
    QWEN25_CODER_15B.name: ["story", "code", "cyrillic", "capital", "system"],
    GEMMA3_270M.name: ["story", "code", "cyrillic", "list", "facts"],  # a base model: its file has no chat template
}


def make(real: RealModel, path: Path) -> dict:
    """Everything that is recorded of one model."""
    path = real_models.verified(path, real)
    fields = GGUFReader(path).fields
    bos = fields["tokenizer.ggml.bos_token_id"].contents()
    adds_bos = "tokenizer.ggml.add_bos_token" in fields and bool(fields["tokenizer.ggml.add_bos_token"].contents())
    eos = fields["tokenizer.ggml.eos_token_id"].contents()
    tokenizer = real_models.load_tokenizer(path, real)
    model = real_models.load(path, real)
    model.generation_config.eos_token_id = eos
    prompts = [
        continued(model, tokenizer, render(name, tokenizer, [bos] if adds_bos else []), eos)
        for name in PROMPTS[real.name]
    ]
    gaps = {prompt["name"]: prompt["runs"]["float32"]["smallest_gap"] for prompt in prompts}
    if min(gaps.values()) < SMALLEST_GAP:
        raise ValueError(f"{real.name}: a smallest gap below {SMALLEST_GAP}, choose other prompts: {gaps}")
    return {
        "format": "hearth-real",
        "format_version": 1,
        "model": {
            "name": real.name,
            "id": real.id,
            "file": {"bytes": path.stat().st_size, "sha256": real.sha256},
            "tensor_types": real_models.tensor_types(path),
            "what": "every tensor dequantized to float32, equal to the bit to the gguf package's",
        },
        "made_by": made_by(),
        "greedy": {
            "max_tokens": MAX_TOKENS,
            "eos_ids": [eos],
            "stop": "A run ends with an EOS id, which stays in ids (finish 'stop'), or at max_tokens (finish 'length').",
            "gap_rule": f"smallest_gap is at least {SMALLEST_GAP}",
            "smallest_gap": min(gaps.values()),
            "prompts": prompts,
        },
    }


def render(name: str, tokenizer, prefix: list[int]) -> dict:
    """The manifest's description of a prompt. `prefix` is the BOS that the file says is added before a raw text."""
    if name in RAW:
        ids = prefix + tokenizer.encode(RAW[name], add_special_tokens=False, split_special_tokens=True)
        return {"name": name, "kind": "raw", "text": RAW[name], "parse_special": False, "prompt_ids": ids}
    messages = [{"role": role, "content": content} for role, content in CHATS[name]]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    ids = tokenizer.encode(text, add_special_tokens=False)
    return {
        "name": name, "kind": "chat", "text": text, "messages": messages, "parse_special": True, "prompt_ids": ids,
    }  # fmt: skip


def continued(model, tokenizer, prompt: dict, eos: int) -> dict:
    """The prompt with its greedy run: ids up to and including the EOS, or MAX_TOKENS of them."""
    cache, step_ids, ids, gaps = DynamicCache(config=model.config), prompt["prompt_ids"], [], []
    while len(ids) < MAX_TOKENS and eos not in ids:
        output = model(input_ids=torch.tensor([step_ids]), past_key_values=cache, use_cache=True, logits_to_keep=1)
        best = output.logits[0, -1].topk(2)
        ids.append(int(best.indices[0]))
        gaps.append(float(best.values[0] - best.values[1]))
        step_ids = ids[-1:]
    check_against_generate(model, prompt["prompt_ids"], ids)
    run = {
        "ids": ids,
        "finish": "stop" if ids[-1] == eos else "length",
        "smallest_gap": float(f"{min(gaps):.4g}"),
        "smallest_gap_step": gaps.index(min(gaps)),  # 0 is the token after the prompt
        "text": tokenizer.decode(ids, skip_special_tokens=True),
    }
    print(f"  {prompt['name']}: gap {run['smallest_gap']} {run['text']!r}", flush=True)
    return {**prompt, "runs": {"float32": run}}


def check_against_generate(model, prompt_ids: list[int], ids: list[int]) -> None:
    """This loop chooses what Transformers' own `generate` chooses."""
    prompt = torch.tensor([prompt_ids])
    generated = model.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=MAX_TOKENS, do_sample=False
    )
    if generated[0, len(prompt_ids) :].tolist() != ids:
        raise ValueError("Transformers' generate chooses other tokens than this loop")


def made_by() -> dict:
    return {
        "script": "tools/golden/real.py",
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "packages": {name: importlib.metadata.version(name).partition("+")[0] for name in PACKAGES},
        "arithmetic": "float32 on the CPU, eager attention, KV cache in float32",
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }


def main() -> None:
    known = {real.name: real for real in (SMOLLM2, QWEN25_CODER_05B, QWEN25_CODER_15B, GEMMA3_270M)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", metavar="NAME=FILE", help=f"names: {', '.join(known)}")
    parser.add_argument("--out", type=Path, default=ROOT / "packages/golden/fixtures/real/greedy")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, _, file in (text.partition("=") for text in arguments.models):
        print(name, flush=True)
        manifest = make(known[name], Path(file).resolve())
        (arguments.out / f"{name.replace(':', '-')}.json").write_text(pretty(manifest) + "\n")


if __name__ == "__main__":
    with torch.inference_mode():
        main()
