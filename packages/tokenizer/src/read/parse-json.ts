import { InvalidModelError, isNestedDeeperThan } from '@hearth/core';
import { findJsonError } from './find-json-error.ts';

/** Deepest nesting that is accepted, because reading it recurses. Real tokenizers have less than ten levels. */
const maxDepth = 64;

/**
 * Parses a JSON file and says where it is damaged, by line and column (both from 1).
 *
 * @param source bytes in UTF-8 or text
 * @param file name for messages, e.g. `tokenizer.json`
 */
export function parseJson(source: string | Uint8Array, file: string): unknown {
  const text = typeof source === 'string' ? source : decodeUtf8(source, file);
  if (text.startsWith('\uFEFF')) {
    // JSON forbids it (RFC 8259, 8.1) and the reference reader refuses it; a file with one was saved by a wrong editor.
    throw damaged(file, text, 0, 'it begins with a byte order mark', 'Save it as UTF-8 without one.');
  }
  const value = parse(text, file);
  if (isNestedDeeperThan(value, maxDepth)) {
    throw new InvalidModelError(`${file} is nested more than ${maxDepth} levels deep.`, {
      details: { file, maxDepth },
    });
  }
  return value;
}

function parse(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const { position, reason } = findJsonError(text);
    throw damaged(file, text, position, reason, 'The file may be cut off or altered; download it again.');
  }
}

function decodeUtf8(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new InvalidModelError(`${file} is not valid UTF-8. Download it again.`, { details: { file } });
  }
}

function damaged(file: string, text: string, position: number, reason: string, cure: string): InvalidModelError {
  const before = text.slice(0, position);
  const line = before.split('\n').length;
  const column = position - before.lastIndexOf('\n');
  return new InvalidModelError(`${file} is not valid JSON: ${reason} (line ${line}, column ${column}). ${cure}`, {
    details: { file, place: `line ${line}, column ${column}`, line, column },
  });
}
