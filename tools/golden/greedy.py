"""Greedy continuations with the gap between the best and the second logit at every step."""

from dataclasses import asdict, dataclass

import torch
from transformers import DynamicCache, LlamaForCausalLM

import forward
import tokenization

# A smallest gap of ten logit tolerances leaves no doubt which token is the best, in any correct float32 program.
GAP_FACTOR = 10


@dataclass(frozen=True)
class Prompt:
    """A chat prompt has `messages`, rendered through the model's template; a raw one has `text`."""

    name: str
    text: str = ""
    messages: tuple = ()
    parse_special: bool = False


def chat(name: str, *messages: tuple[str, str]) -> Prompt:
    """Messages as (role, content). The template writes special tokens, so they are parsed."""
    turns = tuple({"role": role, "content": content} for role, content in messages)
    return Prompt(name=name, messages=turns, parse_special=True)


def render(prompt: Prompt, tokenizer) -> dict:
    """The manifest's description of a prompt: its text as the model sees it, and its ids."""
    described = asdict(prompt)
    if prompt.messages:
        described["messages"] = list(prompt.messages)
        described["text"] = tokenizer.apply_chat_template(
            described["messages"], tokenize=False, add_generation_prompt=True
        )
    else:
        del described["messages"]
    return {
        "name": prompt.name,
        "kind": "chat" if prompt.messages else "raw",
        **{key: value for key, value in described.items() if key != "name"},
        "prompt_ids": tokenization.encode(tokenizer, described["text"], prompt.parse_special),
    }


@torch.no_grad()
def continue_greedily(model: LlamaForCausalLM, prompt_ids: list[int], max_tokens: int) -> tuple[dict, torch.Tensor]:
    """Ids up to and including the EOS, or `max_tokens` of them; and the logits [steps, vocabulary] they came from."""
    eos = model.generation_config.eos_token_id
    cache, step_ids, ids, rows = DynamicCache(), prompt_ids, [], []
    while len(ids) < max_tokens and eos not in ids:
        output = model(input_ids=torch.tensor([step_ids]), past_key_values=cache, use_cache=True, logits_to_keep=1)
        rows.append(output.logits[0, -1])
        ids.append(int(rows[-1].argmax()))
        step_ids = ids[-1:]
    logits = torch.stack(rows)
    best = logits.topk(2).values
    gaps = best[:, 0] - best[:, 1]
    run = {
        "ids": ids,
        "finish": "stop" if ids[-1] == eos else "length",
        "smallest_gap": float(f"{gaps.min().item():.4g}"),
        "smallest_gap_step": int(gaps.argmin()),  # 0 is the token after the prompt
    }
    check_against_generate(model, prompt_ids, run, max_tokens)
    return run, logits


def check_against_generate(model, prompt_ids, run, max_tokens) -> None:
    """This loop chooses what Transformers' own `generate` chooses."""
    prompt = torch.tensor([prompt_ids])
    generated = model.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=max_tokens, do_sample=False
    )
    if generated[0, len(prompt_ids) :].tolist() != run["ids"]:
        raise ValueError("Transformers' generate chooses other tokens than this loop")


def logits_again(llama: forward.Llama, arithmetic: forward.Float64, prompt_ids: list[int], run: dict) -> torch.Tensor:
    """The run's logits [steps, vocabulary] by the plain formula, reading the prompt and the chosen tokens at once.

    So their agreement with Transformers also shows that cached decoding equals recomputing from scratch.
    """
    ids = prompt_ids + run["ids"][:-1]
    return forward.step(llama, arithmetic, ids, [], logit_rows=len(run["ids"]))["lm_head"]


def smallest_gap(prompts: list[dict]) -> float:
    return min(run["smallest_gap"] for prompt in prompts for run in prompt["runs"].values())


def check_gaps(prompts: list[dict], tolerance: float) -> None:
    """Every run of every prompt keeps the gap rule; the message names the ones that do not."""
    failing = [
        f"{prompt['name']} ({weights}): {run['smallest_gap']}"
        for prompt in prompts
        for weights, run in prompt["runs"].items()
        if run["smallest_gap"] < GAP_FACTOR * tolerance
    ]
    if failing:
        raise ValueError(f"smallest gap below {GAP_FACTOR * tolerance:g}, choose other prompts: {'; '.join(failing)}")
