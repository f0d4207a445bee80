"""Tolerances, from two measured distances.

A golden is float32 and so is what is held against it; neither is the formula's value. The distance of each from a
float64 evaluation is measured: Transformers' own, and that of one ascending float32 chain per output, which is how
hearth sums (`forward.AscendingFloat32`). Two correct programs differ by at most the sum of the two distances, so by
twice the larger. FACTOR doubles that once more, because another correct program rounds exp, sqrt and quotients
elsewhere and its largest error falls on another element. A distance below half a unit in the last place of the largest
value is luck (the result of a few roundings that happened to cancel), so that is the floor.
"""

import math

import torch

import rope

FACTOR = 4
HALF_ULP = 2.0**-24  # relative rounding error of one float32 operation

# Boundaries that are copies of stored values: nothing is rounded, so nothing may differ.
COPIED = {
    "model.embed_tokens": "A row of the weights, copied: nothing is rounded.",
    "rope/inv_freq": (
        "Exact: the power in float64, rounded to float32, then one float32 division gives these bits. A last bit "
        "here would turn the angle at position 8191 by up to 5e-4."
    ),
    "rms_norm/input": "Input of the case, not computed.",
    "rms_norm/weight": "Input of the case, not computed.",
}

# cos and sin are at most 1; Transformers' are within one unit (2^-24 below 1), a polynomial of ours may take two more
# and a last addition, which makes 2^-22 the next power of two.
TABLE = {
    "abs": 2.0**-22,
    "reason": (
        "Four units of 2^-24: cos and sin of the same float32 angle, one unit for Transformers' routine, two for a "
        "polynomial, rounded up to a power of two. The angle is the float32 product of position and rope/inv_freq."
    ),
}


def check_tables(tables: dict[str, torch.Tensor]) -> None:
    """TABLE's reason holds: Transformers' cos and sin are within one unit of 2^-24."""
    exact = rope.exact_tables(tables["rope/inv_freq"], torch.tensor(rope.POSITIONS))
    for name, values in zip(("rope/cos", "rope/sin"), exact, strict=True):
        error = largest(tables[name].double() - values)
        if error > HALF_ULP:
            raise ValueError(f"{name}: error {error:g}, more than one unit of 2^-24; TABLE needs another reason")


def measured(golden: torch.Tensor, exact: torch.Tensor, chain: torch.Tensor) -> dict:
    """The tolerance of a computed tensor: absolute, for every element, with its reason."""
    transformers_error = largest(golden.double() - exact)
    chain_error = largest(chain - exact)
    return from_errors(transformers_error, chain_error, HALF_ULP * largest(exact))


def from_errors(transformers_error: float, chain_error: float, floor: float) -> dict:
    bound = max(transformers_error, chain_error, floor)
    return {
        "abs": round_up(FACTOR * bound),
        "reason": (
            f"{FACTOR} times the largest of: the error of Transformers in float32 against float64 "
            f"({transformers_error:.2e}), that of an ascending float32 chain ({chain_error:.2e}), half a unit in the "
            f"last place of the largest value ({floor:.2e}). Two float32 programs differ by up to twice the larger "
            "error; doubled for other roundings of exp, sqrt and division."
        ),
    }


STORED = {"abs": 0.0, "reason": "Copied from the weights: nothing is rounded."}


def table(scaling: float) -> dict:
    """TABLE for cos and sin that are multiplied by an attention scaling (1 for most models)."""
    if scaling == 1:
        return TABLE
    # One more rounding, and values up to 2, where a unit is twice as large.
    return {"abs": 2 * TABLE["abs"], "reason": f"{TABLE['reason']} Doubled for the factor {scaling:.6g} on both."}


def measured_short(golden: torch.Tensor, exact: torch.Tensor, chain: torch.Tensor) -> dict:
    """`measured`, its reason in figures: the fixtures of a family hold some hundred of them."""
    return short(largest(golden.double() - exact), largest(chain - exact), HALF_ULP * largest(exact))


def short(transformers_error: float, chain_error: float, floor: float) -> dict:
    allowed = from_errors(transformers_error, chain_error, floor)["abs"]
    figures = f"e_torch {transformers_error:.1e}, e_chain {chain_error:.1e}, half ulp {floor:.1e}"
    return {"abs": allowed, "reason": f"{FACTOR} * max({figures}): tools/golden/README.md"}


def copied(name: str) -> dict | None:
    """The tolerance of a tensor that holds copied values, else None."""
    reason = COPIED.get(name) or COPIED.get(name.partition("/")[2])
    return {"abs": 0.0, "reason": reason} if reason else None


def largest(x: torch.Tensor) -> float:
    return x.abs().max().item()


def round_up(value: float) -> float:
    """To two significant digits, upwards, so that a tolerance reads well and does not hang on the last bit measured."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit) * unit:.1e}")
