import { type HearthError, type InvalidModelError, UnsupportedError } from '@hearth/core';
import { expect } from 'vitest';
import type { Checkpoint } from '../checkpoint.ts';
import { openCheckpoint } from '../open-checkpoint.ts';
import { type FamilyChanges, familyBytes, type KeyChanges } from './family-bytes.ts';
import { f32, ggufBytes, text, u32 } from './gguf-bytes.ts';
import { putFile, temporaryDirectory } from './temporary-directory.ts';

const directory = await temporaryDirectory();
let count = 0;

/** Writes bytes into a file of their own and gives its path. */
export async function putGguf(bytes: Uint8Array): Promise<string> {
  return putFile(directory, `${count++}.gguf`, bytes);
}

export async function open(architecture: string, changes: FamilyChanges = {}): Promise<Checkpoint> {
  return openCheckpoint(await putGguf(ggufBytes(familyBytes(architecture, changes))));
}

/** The config of a file, which gives no cause for warnings. */
export async function configOf(
  architecture: string,
  keys: KeyChanges = {},
  more: FamilyChanges = {},
): Promise<Checkpoint['config']> {
  const checkpoint = await open(architecture, { keys, ...more });
  await checkpoint.close();
  expect(checkpoint.warnings).toEqual([]);
  return checkpoint.config;
}

export async function expectRefusal(
  architecture: string,
  changes: FamilyChanges,
  message: RegExp,
  type: typeof InvalidModelError | typeof UnsupportedError = UnsupportedError,
): Promise<void> {
  const error = await open(architecture, changes).then(
    () => expect.fail(`the file was opened, expected ${message}`),
    (reason: unknown) => reason as HearthError,
  );
  expect(error.message).toMatch(message);
  expect(error).toBeInstanceOf(type);
}

export const u32Key = (value: number) => ['u32', u32(value)] as const;
export const f32Key = (value: number) => ['f32', f32(value)] as const;
export const textKey = (value: string) => ['string', text(value)] as const;
