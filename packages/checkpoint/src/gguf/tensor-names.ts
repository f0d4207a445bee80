import type { TensorNames } from './architecture.ts';

/** A tensor of a GGUF file under its Hugging Face name. */
export interface HuggingFaceName {
  /** For a tensor of all experts, the name of any of them with `*` in place of its number. */
  readonly name: string;
  /** Null outside the layers. */
  readonly layer: number | null;
  /** Within the layer, without `.weight` or `.bias`; null outside the layers. */
  readonly module: string | null;
  /** Holds this module of all experts, one after the other. */
  readonly isExperts: boolean;
}

/** A Hugging Face tensor under its GGUF name. */
export interface GgufName {
  readonly storedName: string;
  readonly module: string | null;
  /** Which expert of the stored tensor this is; null when it is the whole of it. */
  readonly expert: number | null;
}

/** The Hugging Face name of a GGUF tensor; null when this architecture has no such tensor. */
export function toHuggingFaceName(names: TensorNames, storedName: string): HuggingFaceName | null {
  const globalName = names.globals.get(storedName);
  if (globalName) return { name: globalName, layer: null, module: null, isExperts: false };
  const match = /^blk\.(0|[1-9]\d{0,8})\.(\w+)\.(weight|bias)$/.exec(storedName);
  if (!match) return null;
  const [, layer, stored, kind] = match as unknown as [string, string, string, string];
  const expertModule = names.expertModules?.get(stored);
  const module = expertModule ? `mlp.experts.*.${expertModule}` : names.modules.get(stored);
  if (!module) return null;
  const name = `${names.layerPrefix}.${layer}.${module}.${kind}`;
  return { name, layer: Number(layer), module, isExperts: expertModule !== undefined };
}

/** The GGUF name of a Hugging Face tensor; null when this architecture has no such tensor. */
export function toGgufName(names: TensorNames, name: string): GgufName | null {
  const found = ggufName(names, name);
  if (found || !names.optionalPrefix) return found;
  return ggufName(names, `${names.optionalPrefix}${name}`);
}

function ggufName(names: TensorNames, name: string): GgufName | null {
  const globalName = reversed(names.globals).get(name);
  if (globalName) return { storedName: globalName, module: null, expert: null };
  if (!name.startsWith(`${names.layerPrefix}.`)) return null;
  const match = /^(0|[1-9]\d{0,8})\.([\w.]+)\.(weight|bias)$/.exec(name.slice(names.layerPrefix.length + 1));
  if (!match) return null;
  const [, layer, module, kind] = match as unknown as [string, string, string, string];
  const stored = reversed(names.modules).get(module);
  if (stored) return { storedName: `blk.${layer}.${stored}.${kind}`, module, expert: null };
  const ofExpert = /^mlp\.experts\.(0|[1-9]\d{0,8})\.(\w+)$/.exec(module);
  const experts = ofExpert && names.expertModules && reversed(names.expertModules).get(ofExpert[2]!);
  return experts ? { storedName: `blk.${layer}.${experts}.${kind}`, module, expert: Number(ofExpert[1]) } : null;
}

/** Maps are turned round once, so that names of ten thousand experts are found without walking them. */
const reversedMaps = new WeakMap<ReadonlyMap<string, string>, ReadonlyMap<string, string>>();

function reversed(map: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const known = reversedMaps.get(map) ?? new Map([...map].map(([stored, name]) => [name, stored]));
  reversedMaps.set(map, known);
  return known;
}
