import { InvalidArgumentError } from '@hearth/core';
import { matchesPattern } from './name-pattern.ts';
import { fittingDtype, type StorageDtype } from './storage-dtype.ts';

/** Which type each weight of a model shall have. */
export interface QuantizePlan {
  /** Of the matrices. Where their rows are no whole blocks of it, the type of `fittingDtype` stands in. */
  readonly dtype: StorageDtype;
  /** Of the embedding table and the head. Default: `q6_k` for a `dtype` with blocks of 256, else `dtype`. */
  readonly embeddingDtype?: StorageDtype;
  /** Exceptions, the last that fits wins. They reach every matrix that is not kept as f32. */
  readonly rules?: readonly QuantizeRule[];
}

export interface QuantizeRule {
  /** A Hugging Face name, in which `*` stands for any characters: `*.v_proj.weight`. */
  readonly pattern: string;
  readonly dtype: StorageDtype;
}

/** A weight that a plan is made for. */
export interface PlannedTensor {
  /** `model.layers.0.self_attn.q_proj.weight` */
  readonly name: string;
  /** [rows, columns] as the model multiplies (a Conv1D of GPT-2 is stored the other way round), or [length]. */
  readonly shape: readonly number[];
}

const tables = /(^|\.)(embed_tokens|wte|lm_head)\.weight$/;
/** Small, and read by what is sensitive to every bit: routers choose experts, positions are added to every embedding. */
const keptMatrices = /(^|\.)(mlp\.gate|wpe)\.weight$/;

/** Whether this is the embedding table or the head. */
export function isEmbeddingTable(name: string): boolean {
  return tables.test(name);
}

/** Whether a weight stays f32 whatever the plan: norms, biases, routers, learned positions. */
export function isKeptFloat({ name, shape }: PlannedTensor): boolean {
  return shape.length < 2 || keptMatrices.test(name);
}

/**
 * The type of every weight under a plan.
 * @throws InvalidArgumentError for a pattern that fits no weight that a rule may change
 */
export function plannedDtypes(tensors: Iterable<PlannedTensor>, plan: QuantizePlan): Map<string, StorageDtype> {
  const rules = plan.rules ?? [];
  const all = [...tensors];
  const matrices = all.filter((tensor) => !isKeptFloat(tensor));
  for (const rule of rules) requireMatch(rule, matrices, all);
  const dtypes = new Map<string, StorageDtype>(all.map(({ name }) => [name, 'f32']));
  for (const { name, shape } of matrices) {
    const rule = rules.findLast(({ pattern }) => matchesPattern(pattern, name));
    const wanted = rule?.dtype ?? (isEmbeddingTable(name) ? tableDtype(plan) : plan.dtype);
    dtypes.set(name, fittingDtype(wanted, shape.at(-1)!));
  }
  return dtypes;
}

/** Errors of the head reach every token unsoftened, and the table is often both: a type of 6 bits costs little there. */
function tableDtype({ dtype, embeddingDtype }: QuantizePlan): StorageDtype {
  return embeddingDtype ?? (/_k$|^iq4_xs$/.test(dtype) ? 'q6_k' : dtype);
}

function requireMatch(
  { pattern }: QuantizeRule,
  matrices: readonly PlannedTensor[],
  all: readonly PlannedTensor[],
): void {
  if (matrices.some(({ name }) => matchesPattern(pattern, name))) return;
  const kept = all.find(({ name }) => matchesPattern(pattern, name));
  const example = matrices[0] ? ` Names are like "${matrices[0].name}".` : '';
  throw new InvalidArgumentError(
    kept
      ? `The pattern "${pattern}" fits only weights that stay f32 (norms, biases, routers, positions), such as "${kept.name}".`
      : `The pattern "${pattern}" fits no weight of the model.${example}`,
    { details: { pattern } },
  );
}
