import { InvalidModelError } from '@hearth/core';
import { ModelNotFoundError } from './errors.ts';
import { formatBytes } from './format.ts';
import type { RepositoryFile, RepositorySnapshot } from './hugging-face.ts';

/** What to fetch of a repository. */
export interface RepositoryChoice {
  kind: 'gguf' | 'directory';
  /** The file to open: the GGUF (its first part if it was split), or undefined for a directory. */
  entry: string | undefined;
  files: RepositoryFile[];
  /** Names the weight files; they are to be added once it was read. */
  index: RepositoryFile | undefined;
}

/**
 * Files beside the weights that say how to use them. Code, pictures and weights in other formats stay where they are.
 */
const COMPANION_FILES = [
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'tokenizer.model',
  'special_tokens_map.json',
  'added_tokens.json',
  'vocab.json',
  'merges.txt',
  'chat_template.jinja',
  'chat_template.json',
];

const SINGLE_WEIGHTS = 'model.safetensors';
const WEIGHTS_INDEX = 'model.safetensors.index.json';

/**
 * Formats tried in this order when a repository offers several and none was named: about 4 bits first, better quality before
 * worse, then larger ones. Smaller formats must be asked for.
 */
const DEFAULT_FORMATS = [
  'Q4_K_M',
  'Q4_K_S',
  'Q4_1',
  'Q4_0',
  'IQ4_NL',
  'IQ4_XS',
  'Q5_K_M',
  'Q5_K_S',
  'Q6_K',
  'Q8_0',
  'BF16',
  'F16',
  'F32',
];

/** GGUF files that are no language models: projectors for images, statistics for quantizing. */
const NOT_A_MODEL = /(^|[-._])(mmproj|imatrix)([-._]|$)/i;

/** `NAME-00001-of-00003.gguf` */
const SPLIT = /-(\d{5})-of-(\d{5})$/;

/**
 * Chooses the files of a repository. Without a selector: the safetensors directory if there is one, else the GGUF file.
 * With one: the GGUF files whose path, name or format it matches.
 * @throws ModelNotFoundError with the choices when none or several match
 */
export function chooseFiles(snapshot: RepositorySnapshot, selector: string | undefined): RepositoryChoice {
  const files = snapshot.files.filter((file) => isSafeRelativePath(file.path));
  const directory = selector === undefined ? directoryChoice(files) : undefined;
  return directory ?? ggufChoice(snapshot.repository, files, selector);
}

function directoryChoice(files: readonly RepositoryFile[]): RepositoryChoice | undefined {
  const named = (name: string) => files.find((file) => file.path === name);
  const single = named(SINGLE_WEIGHTS);
  // An index beside one complete file is a left-over of an earlier, split upload, and is not taken.
  const index = single ? undefined : named(WEIGHTS_INDEX);
  if (!named('config.json') || !(single ?? index)) return undefined;
  const companions = files.filter((file) => COMPANION_FILES.includes(file.path));
  return {
    kind: 'directory',
    entry: undefined,
    files: [...companions, ...(single ? [single] : []), ...(index ? [index] : [])],
    index,
  };
}

/**
 * The weight files that an index names, as files of the repository.
 * @throws InvalidModelError for a damaged index or one that names a file that is not there
 */
export function shardsOf(indexText: string, snapshot: RepositorySnapshot): RepositoryFile[] {
  let weightMap: unknown;
  try {
    weightMap = (JSON.parse(indexText) as { weight_map?: unknown } | null)?.weight_map;
  } catch {
    weightMap = undefined;
  }
  if (typeof weightMap !== 'object' || weightMap === null || Object.keys(weightMap).length === 0) {
    throw new InvalidModelError(`${WEIGHTS_INDEX} of ${snapshot.repository} has no weight_map of tensors to files.`);
  }
  return [...new Set(Object.values(weightMap))].sort().map((name) => {
    const file = snapshot.files.find(({ path }) => path === name);
    if (!file || !isSafeRelativePath(file.path)) {
      throw new InvalidModelError(
        `${WEIGHTS_INDEX} of ${snapshot.repository} names the weight file ${JSON.stringify(name)}, which the repository does not hold.`,
        { details: { repository: snapshot.repository, file: name } },
      );
    }
    return file;
  });
}

/** The chosen files and those that the index names, each once. */
export function withShards(
  choice: RepositoryChoice,
  snapshot: RepositorySnapshot,
  indexText: string,
): RepositoryFile[] {
  const shards = shardsOf(indexText, snapshot);
  return [...choice.files, ...shards.filter((shard) => !choice.files.some(({ path }) => path === shard.path))];
}

function ggufChoice(
  repository: string,
  files: readonly RepositoryFile[],
  selector: string | undefined,
): RepositoryChoice {
  const models = groupSplits(files.filter(({ path }) => /\.gguf$/i.test(path)));
  if (models.length === 0) {
    const what = selector === undefined ? 'neither GGUF files nor config.json with model.safetensors' : 'no GGUF files';
    throw new ModelNotFoundError(
      `${repository} holds ${what}, the formats that Hearth reads. Look for a repository of the same model that does.`,
      { details: { repository } },
    );
  }
  const matching =
    selector === undefined ? defaultModels(models) : models.filter((model) => matchesSelector(model.path, selector));
  const [chosen] = matching;
  if (!chosen || matching.length > 1) {
    const said = selector === undefined ? 'no file was named' : `'${selector}' matches ${matching.length} of them`;
    throw new ModelNotFoundError(
      `${repository} holds ${models.length} GGUF models and ${said}. Name one, as in ${repository}:${models[0]!.path.split('/').pop()}. ` +
        `They are: ${(matching.length > 1 ? matching : models).map(({ path, sizeBytes }) => `${path} (${formatBytes(sizeBytes)})`).join(', ')}.`,
      { details: { repository, selector, files: models.map(({ path }) => path) } },
    );
  }
  return { kind: 'gguf', entry: chosen.path, files: chosen.parts, index: undefined };
}

interface GgufModel {
  /** Path of the file, or of its first part. */
  path: string;
  parts: RepositoryFile[];
  sizeBytes: number;
}

/** Joins the parts of split files. A set with a missing part is left out: it could not be loaded. */
function groupSplits(files: readonly RepositoryFile[]): GgufModel[] {
  const groups = new Map<string, RepositoryFile[]>();
  for (const file of files) {
    const stem = stemOf(file.path);
    const key = stem.replace(SPLIT, (_whole, _part, count) => `-of-${count}`);
    groups.set(key, [...(groups.get(key) ?? []), file]);
  }
  return [...groups.values()].flatMap((group) => {
    const parts = group.sort((a, b) => (a.path < b.path ? -1 : 1));
    const [first] = parts;
    const count = Number(SPLIT.exec(stemOf(first!.path))?.[2] ?? 1);
    if (parts.length !== count) return [];
    return [{ path: first!.path, parts, sizeBytes: parts.reduce((sum, part) => sum + part.sizeBytes, 0) }];
  });
}

function defaultModels(models: readonly GgufModel[]): GgufModel[] {
  const usable = models.filter(({ path }) => !NOT_A_MODEL.test(path));
  if (usable.length === 1) return usable;
  for (const format of DEFAULT_FORMATS) {
    const matching = usable.filter(({ path }) => matchesSelector(path, format));
    if (matching.length > 0) return matching;
  }
  return [];
}

/**
 * Does the part of a spec after the colon mean this file? It may be the path, the file name (with or without `.gguf`), a
 * pattern with `*`, or a format such as `Q4_0`, which must stand alone between `-` or `.`. Case does not matter.
 */
export function matchesSelector(path: string, selector: string): boolean {
  const wanted = selector.toLowerCase();
  const whole = path.toLowerCase();
  const name = whole.slice(whole.lastIndexOf('/') + 1);
  if (wanted.includes('*')) {
    const pattern = new RegExp(`^${wanted.split(/\*+/).map(escapeRegExp).join('.*')}$`);
    return pattern.test(whole) || pattern.test(name);
  }
  const stem = stemOf(name);
  const model = stem.replace(SPLIT, '');
  if ([whole, name, stem, model].includes(wanted)) return true;
  return new RegExp(`(^|[-._])${escapeRegExp(wanted)}([-.]|$)`).test(model);
}

/** Plain relative paths only: a listing must not lead out of the cache. */
export function isSafeRelativePath(path: string): boolean {
  if (path === '' || path.length > 1024 || path.includes('\\') || path.includes('\0') || /^[a-z]:/i.test(path))
    return false;
  return path.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..');
}

function stemOf(path: string): string {
  return path.replace(/\.gguf$/i, '');
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
