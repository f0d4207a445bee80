"""What the reference library makes of the awkward texts, with the pipeline of each family."""
import json

import tokenizers
from awkward_texts import TEXTS as AWKWARD
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, trainers

# Real tokens of many models, special and not; all families get them all.
SPECIAL = ["<s>", "</s>", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "[INST]", "[/INST]"]
ADDED = ["<think>", "</think>", "<tool_call>", "</tool_call>"]


# Ids with special tokens found, and with special tokens as text.
def encode_both(tokenizer, text):
    tokenizer.encode_special_tokens = False
    parsed = tokenizer.encode(text, add_special_tokens=False).ids
    tokenizer.encode_special_tokens = True
    return parsed, tokenizer.encode(text, add_special_tokens=False).ids


# Merges that are learned across words, so that it shows in the ids wherever a family splits: what all byte-level ones share.
def across_words(corpus):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trainer = trainers.BpeTrainer(vocab_size=1400, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator([*AWKWARD, *corpus], trainer)
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in SPECIAL])
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in ADDED])
    return json.loads(tokenizer.to_str())


def cases_of(tokenizer):
    cases = []
    for text in AWKWARD:
        parsed, plain = encode_both(tokenizer, text)
        decoded = tokenizer.decode(parsed, skip_special_tokens=False)
        # Most texts come back as they were and have no special tokens: then the list of ids is all.
        cases.append(parsed if (plain, decoded) == (parsed, text) else [parsed, None if plain == parsed else plain, None if decoded == text else decoded])
    return {"reference": f"tokenizers {tokenizers.__version__} (Python)", "cases": cases}


# The pipeline of a family over the shared vocabulary.
def byte_level_cases(family, shared):
    pipeline = {part: json.loads(family.to_str())[part] for part in ("normalizer", "pre_tokenizer", "decoder")}
    model = {"ignore_merges": family.model.ignore_merges}
    tokenizer = Tokenizer.from_str(json.dumps({**shared, **pipeline, "model": {**shared["model"], **model}}))
    return {"pipeline": pipeline, "model": model, **cases_of(tokenizer)}
