"""Perplexity of models of real.py on a text, by Transformers in float32, over the windows that `hearth perplexity` uses.

Adds one entry per model to packages/golden/fixtures/real/perplexity.json. Usage:

    .venv/bin/python perplexity.py smollm2:135m=FILE.gguf [NAME=FILE.gguf ...]
"""

import argparse
import hashlib
import json
import math
import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # everything comes from the verified files

import torch
from gguf import GGUFReader

import real
import real_models
from write import pretty

TEXT = "benchmarks/texts/alice.txt"
WINDOW, STRIDE = 512, 256


def windows(count: int, length: int, scores_first: bool):
    """(begin, first scored, end) of each window; every token is scored once."""
    begin, scored = 0, 0 if scores_first else 1
    while scored < count:
        end = min(begin + length, count)
        yield begin, scored, end
        begin, scored = begin + STRIDE, end


def measure(model_info, path: Path, text: str) -> dict:
    path = real_models.verified(path, model_info)
    fields = GGUFReader(path).fields
    adds_bos = "tokenizer.ggml.add_bos_token" in fields and bool(fields["tokenizer.ggml.add_bos_token"].contents())
    prefix = [fields["tokenizer.ggml.bos_token_id"].contents()] if adds_bos else []
    ids = real_models.load_tokenizer(path, model_info).encode(text, add_special_tokens=False, split_special_tokens=True)
    model = real_models.load(path, model_info)
    total, count = 0.0, 0
    for begin, scored, end in windows(len(ids), WINDOW - len(prefix), bool(prefix)):
        inputs = torch.tensor([prefix + ids[begin:end]])
        logits = model(input_ids=inputs).logits[0].double()
        targets = torch.tensor(ids[scored:end])
        # The row that predicts a token is that of the one before it.
        first = len(prefix) + scored - begin - 1
        rows = logits[first : first + len(targets)].log_softmax(-1)
        total -= float(rows.gather(1, targets[:, None]).sum())
        count += len(targets)
        print(f"  {end} of {len(ids)} tokens: {math.exp(total / count):.4f}", flush=True)
    return {
        "file_sha256": model_info.sha256,
        "tokens": count,
        "mean_nll": total / count,
        "perplexity": math.exp(total / count),
    }


def main() -> None:
    known = {each.name: each for each in (real_models.SMOLLM2, real_models.QWEN25_CODER_05B, real_models.GEMMA3_270M)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", metavar="NAME=FILE", help=f"names: {', '.join(known)}")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    text = (real.ROOT / TEXT).read_text()
    out = real.ROOT / "packages/golden/fixtures/real/perplexity.json"
    results = json.loads(out.read_text()) if out.exists() else {"models": {}}
    results |= {
        "text": TEXT,
        "text_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "window": WINDOW,
        "stride": STRIDE,
        "made_by": {**real.made_by(), "script": "tools/golden/perplexity.py"},
    }
    for name, _, file in (entry.partition("=") for entry in arguments.models):
        print(name, flush=True)
        results["models"][name] = measure(known[name], Path(file).resolve(), text)
    out.write_text(pretty(results) + "\n")


if __name__ == "__main__":
    with torch.inference_mode():
        main()
