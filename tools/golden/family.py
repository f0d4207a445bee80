"""What a model family's file in `families/` gives: tiny configurations, random weights, boundaries, and mistakes.

A family is one set of weights and one or more variants of its configuration, each a fixture of its own. The first
variant's directory holds the weights.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from transformers import GenerationConfig, PretrainedConfig, PreTrainedModel

import models
import rope
import tokenization
from boundaries import Boundary
from fixtures import FAMILY_PROMPTS
from greedy import Prompt


@dataclass(frozen=True)
class Fault:
    """A mistake: `change` makes it in a float64 copy of the model; `caught_at` is the first boundary it reaches."""

    name: str
    change: Callable[[PreTrainedModel], None]
    caught_at: str


@dataclass(frozen=True)
class Variant:
    name: str  # of the fixture directory
    what: str  # what it is there for
    settings: dict = field(default_factory=dict)  # of the configuration, over the family's
    context_length: int | None = None  # the one that length-dependent RoPE is fixed at
    faults: tuple[Fault, ...] = ()
    boundaries: Callable[[PretrainedConfig], list[Boundary]] | None = None  # in place of the family's
    published: dict = field(default_factory=dict)  # keys of config.json that Transformers reads but does not write back


@dataclass(frozen=True)
class Family:
    model_class: type[PreTrainedModel]
    config_class: type[PretrainedConfig]
    settings: dict
    boundaries: Callable[[PretrainedConfig], list[Boundary]]
    variants: tuple[Variant, ...]
    seed: int = 0
    centre_of_norms: float = 1.0  # 0 where the formula adds 1 to the weight
    weights: str = ""  # another fixture's directory, if the weights are that one's
    prompts: tuple[Prompt, ...] = FAMILY_PROMPTS
    # Refuses weights and prompts that bring a choice of the network near a tie; gets the float64 model and sequences.
    check: Callable[[PreTrainedModel, list[list[int]]], None] = lambda _model, _sequences: None

    def model(self, variant: Variant) -> PreTrainedModel:
        """The model of a variant in float32, its RoPE fixed at the configured context length."""
        settings = {**SHARED_SETTINGS, **self.settings, **variant.settings}
        config = self.config_class(**settings, dtype="float32", attn_implementation="eager")
        model = self.model_class(config).eval()
        if self.weights:
            model.load_state_dict(models.tiny_llama().state_dict())
        else:
            randomize(model, self)
        model.generation_config = GenerationConfig(bos_token_id=1, eos_token_id=2, pad_token_id=2)
        if variant.context_length is not None:
            rope.fix_at(model, variant.context_length)
        return model


SHARED_SETTINGS = {"vocab_size": 288, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}


@torch.no_grad()
def randomize(model: PreTrainedModel, family: Family) -> None:
    """Random weights that spread logits over several units, so that the best token is clear of the second.

    Products keep the size of their input whatever their width (larger than in a trained model). The final norm has
    weights of both signs: with a tied head and positive ones, the best next token would be the last one again.
    """
    generator = torch.Generator().manual_seed(family.seed)
    last_norm = [name for name, _ in model.named_parameters() if is_norm(name) and name.endswith(".weight")][-1]
    for name, weight in sorted(model.named_parameters()):
        noise = torch.randn(weight.shape, generator=generator)
        if name == last_norm:
            weight.copy_(noise + family.centre_of_norms - 1)
        elif name.endswith(".bias"):
            weight.copy_(0.3 * noise)
        elif is_norm(name):
            weight.copy_(family.centre_of_norms + 0.2 * noise)
        elif is_table(name):
            weight.copy_(0.35 * noise)
        else:
            weight.copy_(1.6 * noise / fan_in(model, name, weight) ** 0.5)
        if is_norm(name) and family.centre_of_norms == 0:
            # GGUF files hold 1 + weight; on this grid, as in trained models, that is exact.
            weight.copy_((weight * 2**16).round() / 2**16 + 0.0)  # + 0.0: no -0


def is_norm(name: str) -> bool:
    module = name.split(".")[-2]
    return "norm" in module or module.startswith("ln_")


def is_table(name: str) -> bool:
    return name.split(".")[-2] in ("embed_tokens", "lm_head", "wte", "wpe")


def fan_in(model, name: str, weight: torch.Tensor) -> int:
    """Input width; GPT-2 keeps its matrices transposed."""
    module = model.get_submodule(name.rpartition(".")[0])
    return weight.shape[0] if type(module).__name__ == "Conv1D" else weight.shape[1]


def save(model: PreTrainedModel, family: Family, variant: Variant, directory: Path) -> None:
    """The first variant's whole Hugging Face directory; of the others, and over foreign weights, config.json alone."""
    directory.mkdir(parents=True, exist_ok=True)
    if owns_weights(family, variant):
        models.save_tiny(model, tokenization.tiny_tokenizer(), directory / "model")
        models.edit_json(directory / "model" / "config.json", variant.published)
    else:
        model.config.architectures = [family.model_class.__name__]
        model.config.to_json_file(directory / "config.json")
        models.edit_json(directory / "config.json", variant.published)


def owns_weights(family: Family, variant: Variant) -> bool:
    return not family.weights and variant is family.variants[0]


def weights_directory(family: Family, variant: Variant) -> str:
    """Where the weights and the tokenizer are, relative to the fixture."""
    return "model" if owns_weights(family, variant) else f"../{family.weights or family.variants[0].name}/model"


# Changes that several families' mistakes are made of.


def set_config(**settings) -> Callable[[PreTrainedModel], None]:
    """The network reads these while it runs (masks, caps); what it reads when it is built takes another change."""

    def change(model):
        for key, value in settings.items():
            setattr(model.config, key, value)

    return change


def on_modules(ending: str, change: Callable) -> Callable[[PreTrainedModel], None]:
    """Applies `change` to every module whose name ends so."""

    def apply(model):
        found = [module for name, module in model.named_modules() if name.endswith(ending)]
        if not found:
            raise ValueError(f"no module {ending}")
        for module in found:
            change(module)

    return apply


def set_on_modules(ending: str, **attributes) -> Callable[[PreTrainedModel], None]:
    return on_modules(ending, lambda module: [setattr(module, key, value) for key, value in attributes.items()])


def skip_modules(ending: str) -> Callable[[PreTrainedModel], None]:
    """The modules give back what they get."""
    return set_on_modules(ending, forward=lambda x: x)


def change_weights(ending: str, change: Callable) -> Callable[[PreTrainedModel], None]:
    """Replaces every weight whose name ends so by `change` of it."""

    def apply(model):
        found = [weight for name, weight in model.named_parameters() if name.endswith(ending)]
        if not found:
            raise ValueError(f"no weight {ending}")
        for weight in found:
            weight.data = change(weight.data)

    return apply
