"""Makes the golden fixtures of every model. See README.md for the command."""

import argparse
import os
import shutil
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # everything comes from the verified file or from this folder
# Wider vector units would sum in another order; with this, machines with AVX2 or more give the same bytes.
os.environ["ATEN_CPU_CAPABILITY"] = "avx2"
os.environ["MKL_ENABLE_INSTRUCTIONS"] = "AVX2"

import torch
from transformers import DynamicCache

import boundaries
import forward
import greedy
import make_family
import models
import norm
import rope
import sensitivity
import source
import tokenization
import tolerance
import write
from families import FAMILIES
from fixtures import SMOLLM2, TINY, Fixture
from recording import Recording, made_by, named

ROOT = Path(__file__).resolve().parents[2]


def make(fixture: Fixture, model, tokenizer, directory: Path) -> None:
    """Records everything of one model and writes it into `directory`. Leaves the model's weights rounded."""
    directory.mkdir(parents=True, exist_ok=True)
    llama = forward.Llama.of(model)
    weights = {name: write.describe_bytes(weight) for name, weight in model.named_parameters()}
    recording = Recording()
    record_tables(recording, model)
    steps = record_steps(recording, fixture.boundary_prompt, model, tokenizer, llama)
    caught = sensitivity.check(llama, steps["prefill"]["ids"], recording.tensors, recording.tolerances)
    greedy_runs = record_greedy(fixture, model, tokenizer, llama)
    write.write_tensors(directory, recording.tensors)
    write.write_manifest(
        directory,
        {
            "model": {**fixture.model, "config": published_config(model.config)},
            "made_by": made_by(),
            "files": write.describe_files(directory),
            **steps,
            "rope": {"positions": rope.POSITIONS},
            "rms_norm": {"eps": model.config.rms_norm_eps, "row_sizes": norm.ROW_SIZES},
            "sensitivity": caught,
            "greedy": greedy_runs,
            "tensors": write.describe_tensors(recording.tensors, recording.tolerances),
            "weights": weights,
        },
    )


def record_tables(recording: Recording, model) -> None:
    """The RoPE tables and the standalone RMSNorm case."""
    tables = rope.golden_tables(model)
    tolerance.check_tables(tables)
    recording.tensors |= tables
    recording.tolerances |= {"rope/cos": tolerance.TABLE, "rope/sin": tolerance.TABLE}
    eps = model.config.rms_norm_eps
    case = norm.golden_case(model.model.norm.weight, eps)
    recording.tensors |= case
    exact = norm.outputs(case, eps, forward.Float64())
    chain = norm.outputs(case, eps, forward.AscendingFloat32())
    recording.tolerances["rms_norm/output"] = tolerance.measured(case["rms_norm/output"], exact, chain)
    for name in ("rope/inv_freq", "rms_norm/input", "rms_norm/weight"):
        recording.tolerances[name] = tolerance.copied(name)


def record_steps(recording: Recording, text: str, model, tokenizer, llama: forward.Llama) -> dict:
    """One prefill and one cached decode step: boundaries and layer 0's cache, each beside its two recomputations."""
    ids = tokenization.encode(tokenizer, text, parse_special=False)
    places = boundaries.llama(model.config.num_hidden_layers)
    cache = DynamicCache()
    golden = named("prefill", boundaries.record_step(model, places, ids, cache))
    golden |= named("cache/before", boundaries.layer_0_cache(cache))
    next_id = int(golden["prefill/lm_head"].argmax())
    golden |= named("decode", boundaries.record_step(model, places, [next_id], cache))
    golden |= named("cache/after", boundaries.layer_0_cache(cache))
    exact = plain_steps(llama, forward.Float64(), ids, next_id)
    chain = plain_steps(llama, forward.AscendingFloat32(), ids, next_id)
    for name, value in golden.items():
        recording.tensors[name] = value
        recording.tolerances[name] = tolerance.copied(name) or tolerance.measured(value, exact[name], chain[name])
    return {
        "prefill": {"text": text, "parse_special": False, "ids": ids},
        "decode": {"ids": [next_id], "position": len(ids)},
    }


def plain_steps(llama: forward.Llama, arithmetic: forward.Float64, ids: list[int], next_id: int) -> dict:
    """The same two steps and caches by the plain formula."""
    cache = []
    out = named("prefill", forward.step(llama, arithmetic, ids, cache))
    out |= named("cache/before", dict(zip("kv", cache[0], strict=True)))
    out |= named("decode", forward.step(llama, arithmetic, [next_id], cache))
    return out | named("cache/after", dict(zip("kv", cache[0], strict=True)))


def record_greedy(fixture: Fixture, model, tokenizer, llama: forward.Llama) -> dict:
    """The five prompts with the weights as they are and then rounded to bfloat16. Changes the model's weights."""
    prompts = [{**greedy.render(prompt, tokenizer), "runs": {}} for prompt in fixture.prompts]
    transformers_error = chain_error = largest_logit = 0.0
    for weights in ("float32", "bfloat16"):
        if weights == "bfloat16":
            models.round_to_bfloat16(model)
            llama = forward.Llama.of(model)
        for prompt in prompts:
            ids = prompt["prompt_ids"]
            run, logits = greedy.continue_greedily(model, ids, fixture.max_tokens)
            prompt["runs"][weights] = {**run, "text": tokenizer.decode(run["ids"], skip_special_tokens=True)}
            exact = greedy.logits_again(llama, forward.Float64(), ids, run)
            transformers_error = max(transformers_error, tolerance.largest(logits.double() - exact))
            largest_logit = max(largest_logit, tolerance.largest(exact))
            if weights == "float32":  # the slow one; rounding the weights does not change how sums drift
                chain = greedy.logits_again(llama, forward.AscendingFloat32(), ids, run)
                chain_error = max(chain_error, tolerance.largest(chain - exact))
    allowed = tolerance.from_errors(transformers_error, chain_error, tolerance.HALF_ULP * largest_logit)
    greedy.check_gaps(prompts, allowed["abs"])
    return {
        "max_tokens": fixture.max_tokens,
        "eos_ids": [model.generation_config.eos_token_id],
        "stop": "A run ends with an EOS id, which stays in ids (finish 'stop'), or at max_tokens (finish 'length').",
        "runs": {
            "float32": "the weights as they are in the model",
            "bfloat16": "every weight, norms and embedding too, rounded to bfloat16 (ties to even); float32 arithmetic",
        },
        "logit_tolerance": allowed,
        "gap_rule": f"smallest_gap is at least {greedy.GAP_FACTOR} times logit_tolerance",
        "smallest_gap": greedy.smallest_gap(prompts),
        "prompts": prompts,
    }


def published_config(config) -> dict:
    keys = [
        "model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "head_dim", "max_position_embeddings", "rope_theta", "rms_norm_eps",
        "tie_word_embeddings", "hidden_act",
    ]  # fmt: skip
    return {key: getattr(config, key) for key in keys}


def main() -> None:
    variants = {variant.name: (family, variant) for family in FAMILIES for variant in family.variants}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gguf", type=Path, help=f"{source.FILE_NAME}, if it is there already")
    parser.add_argument("--out", type=Path, default=ROOT / "packages/golden/fixtures")
    parser.add_argument("--only", nargs="+", choices=[TINY.name, SMOLLM2.name, *variants], metavar="NAME")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for name in arguments.only or [TINY.name, *variants, SMOLLM2.name]:
        directory = arguments.out / name
        if name == SMOLLM2.name:
            gguf = source.obtain(arguments.gguf, Path(__file__).parent / ".cache")
            make(SMOLLM2, models.smollm2(gguf), tokenization.smollm2_tokenizer(gguf), directory)
            continue
        shutil.rmtree(directory, ignore_errors=True)
        if name == TINY.name:
            model, tokenizer = models.tiny_llama(), tokenization.tiny_tokenizer()
            models.save_tiny(model, tokenizer, directory / "model")
            make(TINY, model, tokenizer, directory)
        else:
            make_family.make(*variants[name], directory)


if __name__ == "__main__":
    with torch.no_grad():
        main()
