"""Makes the fixtures of a family: as `make.py` does for the two Llamas, but measured by Transformers in float64."""

import copy
from pathlib import Path

import torch
from transformers import DynamicCache

import arithmetic
import boundaries
import greedy
import models
import rope
import tokenization
import tolerance
import write
from family import Family, Variant, owns_weights, save, weights_directory
from fixtures import FAMILY_MAX_TOKENS, FAMILY_PROMPT
from recording import Recording, made_by, named

# The first of these that a model has is its last norm, which tells it from others.
LAST_NORMS = ["model.norm.weight", "transformer.ln_f.weight"]


def make(family: Family, variant: Variant, directory: Path) -> None:
    """Records everything of one variant and writes it into `directory`."""
    model, tokenizer = family.model(variant), tokenization.tiny_tokenizer()
    save(model, family, variant, directory)
    recording = Recording()
    record_norm(recording, model)
    rope_facts = record_tables(recording, model, variant)
    exact, chain = arithmetic.exact(model), arithmetic.ascending(model)
    places = (variant.boundaries or family.boundaries)(model.config)
    ids = tokenization.encode(tokenizer, FAMILY_PROMPT, parse_special=False)
    next_id = record_steps(recording, model, exact, chain, places, ids)
    caught = check_faults(variant, exact, places, ids, recording)
    weights = {name: write.describe_bytes(weight) for name, weight in model.named_parameters()}
    runs = record_greedy(family.prompts, model, exact, chain, tokenizer)
    with arithmetic.InFloat64():
        family.check(exact, [prompt["prompt_ids"] + prompt["runs"]["float32"]["ids"] for prompt in runs["prompts"]])
    write.write_tensors(directory, recording.tensors)
    source = {"directory": weights_directory(family, variant), "what": "random weights; no trained model"}
    if not owns_weights(family, variant):
        source["config"] = "config.json"
    context = {} if variant.context_length is None else {"context_length": variant.context_length}
    write.write_manifest(
        directory,
        {
            "model": {
                "id": f"hearth/{variant.name}",
                "what": variant.what,
                "revision": f"seed {models.TINY_SEED if family.weights else family.seed}",
                "source": source,
                "config": published_config(model, variant),
                **context,
            },
            "made_by": made_by(),
            "files": write.describe_files(directory),
            "prefill": {"text": FAMILY_PROMPT, "parse_special": False, "ids": ids},
            "decode": {"ids": [next_id], "position": len(ids)},
            **rope_facts,
            "sensitivity": caught,
            "greedy": runs,
            "tensors": write.describe_tensors(recording.tensors, recording.tolerances),
            "weights": weights,
        },
    )


def published_config(model, variant: Variant) -> dict:
    """What tells the variant from others, under the keys of its config.json."""
    standard = {
        key: getattr(model.config, key)
        for key in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads")
    }
    # GPT-2 writes these under names of its own.
    renamed = {model.config.attribute_map.get(key, key): value for key, value in standard.items()}
    sizes = ("intermediate_size", "num_key_value_heads", "head_dim")
    settings = ("sliding_window", "rope_scaling", "query_pre_attn_scalar")
    optional = {key: getattr(model.config, key) for key in (*sizes, *settings) if hasattr(model.config, key)}
    return {"architectures": [type(model).__name__], **renamed, **optional, **variant.published}


def record_norm(recording: Recording, model) -> None:
    """The final norm's weight, to know the model by."""
    name = next(name for name in LAST_NORMS if name in dict(model.named_parameters()))
    recording.add(f"weights/{name}", model.get_parameter(name).detach().clone(), tolerance.STORED)


def record_tables(recording: Recording, model, variant: Variant) -> dict:
    """The RoPE tables of models that have any; returns what the manifest says of them."""
    rotaries = rope.rotary_modules(model)
    if not rotaries:
        return {}
    length = variant.context_length or model.config.max_position_embeddings
    positions = [position for position in rope.FEW_POSITIONS if position < length]
    for name, table in rope.family_tables(model, positions).items():
        prefix, kind = name.split("/")
        scaling = next(rotary.attention_scaling for key, rotary in rotaries.items() if rope.TABLES[key] == prefix)
        rounded = tolerance.COPIED["rope/inv_freq"] if kind == "inv_freq" else None
        recording.add(name, table, {"abs": 0.0, "reason": rounded} if rounded else tolerance.table(scaling))
    facts = {"positions": positions, "tables": {name: rope.TABLES[name] for name in rotaries}}
    if variant.context_length is not None:
        facts["fixed_at"] = (
            f"the frequencies of a sequence of {variant.context_length} tokens, by Transformers' function for "
            "the type; set in its module, so that they are the same at every length"
        )
    return {"rope": facts}


def record_steps(recording: Recording, model, exact, chain, places, ids) -> int:
    """One prefill and one cached decode step, each beside its two recomputations; returns the token of the second."""
    golden = steps(model, places, ids, None)
    next_id = int(golden["prefill/lm_head"].argmax())
    golden = steps(model, places, ids, next_id)
    with arithmetic.InFloat64():
        values = steps(exact, places, ids, next_id)
    with arithmetic.InAscendingChains():
        chained = steps(chain, places, ids, next_id)
    stored = is_row_of_table(model, golden["prefill/" + places[0].name], ids)
    for name, value in golden.items():
        copied = stored and name.endswith(places[0].name)
        allowed = tolerance.measured_short(value, values[name], chained[name].double())
        recording.add(name, value, tolerance.STORED if copied else allowed)
    return next_id


def is_row_of_table(model, embedded, ids) -> bool:
    """Whether the first boundary is a copy of weights; Gemma's is scaled."""
    return torch.equal(embedded, model.get_input_embeddings().weight[torch.tensor(ids)])


def steps(model, places, ids: list[int], next_id: int | None) -> dict[str, torch.Tensor]:
    cache = DynamicCache()
    found = named("prefill", boundaries.record_step(model, places, ids, cache))
    if next_id is None:
        return found
    found |= named("cache/before", boundaries.layer_0_cache(cache))
    found |= named("decode", boundaries.record_step(model, places, [next_id], cache))
    return found | named("cache/after", boundaries.layer_0_cache(cache))


def check_faults(variant: Variant, exact, places, ids, recording: Recording) -> list[dict]:
    """Makes every mistake in a copy of the float64 model; returns where each was caught and by how many tolerances."""
    caught = []
    for fault in variant.faults:
        faulty = copy.deepcopy(exact)
        fault.change(faulty)
        with arithmetic.InFloat64():
            computed = boundaries.record_step(faulty, places, ids, DynamicCache())
        for name, value in computed.items():
            difference = tolerance.largest(value - recording.tensors[f"prefill/{name}"].double())
            allowed = recording.tolerances[f"prefill/{name}"]["abs"] or tolerance.HALF_ULP
            if difference > allowed:
                break
        else:
            raise ValueError(f"{variant.name}: fault '{fault.name}' stays within every tolerance")
        if name != fault.caught_at:
            raise ValueError(f"{variant.name}: fault '{fault.name}' expected at {fault.caught_at}, found at {name}")
        caught.append({"fault": fault.name, "first_boundary": name, "times_tolerance": round(difference / allowed)})
    return caught


def record_greedy(prompts, model, exact, chain, tokenizer) -> dict:
    """Every prompt with the weights as they are and rounded to bfloat16; the gap rule is that of `greedy.py`."""
    prompts = [{**greedy.render(prompt, tokenizer), "runs": {}} for prompt in prompts]
    transformers_error = chain_error = largest_logit = 0.0
    for prompt in prompts:
        run, logits = greedy.continue_greedily(model, prompt["prompt_ids"], FAMILY_MAX_TOKENS)
        prompt["runs"]["float32"] = run
        with arithmetic.InFloat64():
            values = logits_at_once(exact, prompt["prompt_ids"], run)
        with arithmetic.InAscendingChains():
            chained = logits_at_once(chain, prompt["prompt_ids"], run).double()
        transformers_error = max(transformers_error, tolerance.largest(logits.double() - values))
        chain_error = max(chain_error, tolerance.largest(chained - values))
        largest_logit = max(largest_logit, tolerance.largest(values))
    rounded = copy.deepcopy(model)
    models.round_to_bfloat16(rounded)
    for prompt in prompts:
        run, _ = greedy.continue_greedily(rounded, prompt["prompt_ids"], FAMILY_MAX_TOKENS)
        prompt["runs"]["bfloat16"] = run
        for run in prompt["runs"].values():
            run["text"] = tokenizer.decode(run["ids"], skip_special_tokens=True)
    allowed = tolerance.short(transformers_error, chain_error, tolerance.HALF_ULP * largest_logit)
    greedy.check_gaps(prompts, allowed["abs"])
    return {
        "max_tokens": FAMILY_MAX_TOKENS,
        "eos_ids": [model.generation_config.eos_token_id],
        "logit_tolerance": allowed,
        "gap_rule": f"smallest_gap is at least {greedy.GAP_FACTOR} times logit_tolerance",
        "smallest_gap": greedy.smallest_gap(prompts),
        "prompts": prompts,
    }


@torch.no_grad()
def logits_at_once(model, prompt_ids: list[int], run: dict) -> torch.Tensor:
    """The run's logits [steps, vocabulary], reading the prompt and the chosen tokens in one step."""
    ids = torch.tensor([prompt_ids + run["ids"][:-1]])
    return model(input_ids=ids, logits_to_keep=len(run["ids"])).logits[0]
