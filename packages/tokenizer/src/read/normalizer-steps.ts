import { UnsupportedError } from '@hearth/core';
import { readArray, readObject, readString, show } from './read-value.ts';

/** Pattern of the file format: a literal string or a regular expression in Oniguruma's syntax. */
export type Pattern = { kind: 'literal'; text: string } | { kind: 'regex'; source: string };

/** What is done to the text before it is split. */
export type NormalizerStep =
  | { kind: 'unicode'; form: 'NFC' | 'NFD' | 'NFKC' | 'NFKD' }
  | { kind: 'replace'; pattern: Pattern; content: string }
  | { kind: 'prepend'; text: string };

/**
 * Reads the `normalizer` of a `tokenizer.json` into a flat list of steps. The kinds that byte-pair models use are here;
 * any other is refused by name, since a wrong guess would silently change every prompt.
 */
export function readNormalizer(value: unknown, place: string): NormalizerStep[] {
  if (value === null || value === undefined) return [];
  const config = readObject(value, place);
  switch (config.type) {
    case 'Sequence':
      return readArray(config.normalizers, `${place}.normalizers`).flatMap((item, index) =>
        readNormalizer(item, `${place}.normalizers[${index}]`),
      );
    case 'NFC':
    case 'NFD':
    case 'NFKC':
    case 'NFKD':
      return [{ kind: 'unicode', form: config.type }];
    case 'Replace':
      return [
        {
          kind: 'replace',
          pattern: readPattern(config.pattern, `${place}.pattern`),
          content: readString(config.content, `${place}.content`),
        },
      ];
    case 'Prepend':
      return [{ kind: 'prepend', text: readString(config.prepend, `${place}.prepend`) }];
    default:
      throw unsupportedPart('normalizer', config.type, place, 'NFC, NFD, NFKC, NFKD, Replace, Prepend');
  }
}

export function readPattern(value: unknown, place: string): Pattern {
  const pattern = readObject(value, place);
  if (pattern.String !== undefined) return { kind: 'literal', text: readString(pattern.String, `${place}.String`) };
  return { kind: 'regex', source: readString(pattern.Regex, `${place}.Regex`) };
}

export function unsupportedPart(what: string, type: unknown, place: string, supported: string): UnsupportedError {
  return new UnsupportedError(
    `${place} is a ${what} of the type ${show(type)}, which Hearth does not know. It knows ${supported}.`,
    { details: { place, type } },
  );
}
