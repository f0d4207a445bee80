import { InvalidModelError } from '@hearth/core';

/** How far a value may be from its golden, and why. */
export interface Tolerance {
  readonly abs: number;
  readonly reason: string;
}

export interface GoldenTensor {
  readonly shape: readonly number[];
  readonly sha256: string;
  readonly tolerance: Tolerance;
}

/** Which rounding of the weights a run was made with; the arithmetic is float32 in both. */
export type GoldenRunName = 'float32' | 'bfloat16';

export interface GoldenRun {
  /** Greedy tokens, the end token included. */
  readonly ids: readonly number[];
  readonly finish: 'stop' | 'length';
  /** Smallest distance between the best and the second logit. */
  readonly smallestGap: number;
  readonly text: string;
}

export interface GoldenPrompt {
  readonly name: string;
  readonly kind: 'raw' | 'chat';
  readonly text: string;
  readonly messages?: readonly { readonly role: string; readonly content: string }[];
  readonly parseSpecial: boolean;
  readonly promptIds: readonly number[];
  readonly runs: Readonly<Record<GoldenRunName, GoldenRun>>;
}

/** manifest.json of a fixture, in our names. Its keys are described in the README of this package. */
export interface GoldenManifest {
  readonly model: {
    readonly id: string;
    readonly revision: string;
    /** Keys of config.json that tell the model from others. */
    readonly config: Readonly<Record<string, unknown>>;
    /** Where the weights are, when they come with the fixture: a Hugging Face directory, relative to it. */
    readonly directory: string | null;
    /** A config.json to take in place of that directory's, relative to the fixture. */
    readonly configFile: string | null;
    /** The context length that the goldens were made for, where the length changes the rotary frequencies. */
    readonly contextLength?: number;
  };
  /** By path within the fixture. */
  readonly files: ReadonlyMap<string, { readonly bytes: number; readonly sha256: string }>;
  readonly prefill: { readonly ids: readonly number[] };
  readonly decode: { readonly ids: readonly number[]; readonly position: number };
  /** Null for a model without rotary embedding. */
  readonly rope: {
    readonly positions: readonly number[];
    /** Name of each rotary table, and the prefix of its goldens: `model.rotary_emb` and `rope`. */
    readonly tables: ReadonlyMap<string, string>;
  } | null;
  /** The standalone RMSNorm case, which only the two Llamas have. */
  readonly rmsNorm: { readonly eps: number } | null;
  readonly greedy: {
    readonly maxTokens: number;
    readonly eosIds: readonly number[];
    readonly logitTolerance: Tolerance;
    readonly smallestGap: number;
    readonly prompts: readonly GoldenPrompt[];
  };
  /** By key, in the order of computation. */
  readonly tensors: ReadonlyMap<string, GoldenTensor>;
  /** SHA-256 of the float32 bytes of each weight, by Hugging Face name. */
  readonly weights: ReadonlyMap<string, { readonly shape: readonly number[]; readonly sha256: string }>;
}

/**
 * Reads manifest.json.
 * @throws InvalidModelError when it is not one, or of another format version
 */
export function parseManifest(text: string, path: string): GoldenManifest {
  try {
    return convert(JSON.parse(text));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new InvalidModelError(`${path} is no manifest of goldens that this version reads: ${why}`, {
      cause,
      details: { path },
    });
  }
}

/** The file as it is, as far as it is read. A missing part makes a TypeError, which `parseManifest` wraps. */
// biome-ignore lint/suspicious/noExplicitAny: the shape is that of the README; a wrong one fails on access
function convert(json: any): GoldenManifest {
  if (json.format !== 'hearth-golden' || json.format_version !== 1) {
    throw new Error(`expected format "hearth-golden" 1, got ${JSON.stringify(json.format)} ${json.format_version}.`);
  }
  return {
    model: {
      id: json.model.id,
      revision: json.model.revision,
      config: json.model.config,
      directory: json.model.source.directory ?? null,
      configFile: json.model.source.config ?? null,
      ...(json.model.context_length !== undefined && { contextLength: json.model.context_length }),
    },
    files: new Map(Object.entries(json.files)),
    prefill: { ids: [...json.prefill.ids] },
    decode: { ids: [...json.decode.ids], position: json.decode.position },
    rope: json.rope
      ? {
          positions: [...json.rope.positions],
          tables: new Map(Object.entries(json.rope.tables ?? { 'model.rotary_emb': 'rope' })),
        }
      : null,
    rmsNorm: json.rms_norm ? { eps: json.rms_norm.eps } : null,
    greedy: {
      maxTokens: json.greedy.max_tokens,
      eosIds: [...json.greedy.eos_ids],
      logitTolerance: json.greedy.logit_tolerance,
      smallestGap: json.greedy.smallest_gap,
      prompts: json.greedy.prompts.map(convertPrompt),
    },
    tensors: new Map(Object.entries(json.tensors)),
    weights: new Map(Object.entries(json.weights)),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function convertPrompt(json: any): GoldenPrompt {
  return {
    name: json.name,
    kind: json.kind,
    text: json.text,
    ...(json.messages && { messages: json.messages }),
    parseSpecial: json.parse_special,
    promptIds: [...json.prompt_ids],
    runs: { float32: convertRun(json.runs.float32), bfloat16: convertRun(json.runs.bfloat16) },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function convertRun(json: any): GoldenRun {
  return { ids: [...json.ids], finish: json.finish, smallestGap: json.smallest_gap, text: json.text };
}
