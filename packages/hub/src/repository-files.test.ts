import { InvalidModelError } from '@hearth/core';
import { expect, test } from 'vitest';
import { ModelNotFoundError } from './errors.ts';
import type { RepositorySnapshot } from './hugging-face.ts';
import { chooseFiles, isSafeRelativePath, matchesSelector, shardsOf } from './repository-files.ts';

function snapshotOf(...paths: string[]): RepositorySnapshot {
  const files = paths.map((path) => ({ path, sizeBytes: 1000, digests: [] }));
  return { repository: 'org/name', commit: 'a'.repeat(40), files };
}

const namesOf = (files: readonly { path: string }[]) => files.map(({ path }) => path);

test('of a safetensors repository only what Hearth reads is taken', () => {
  const snapshot = snapshotOf(
    'README.md',
    'config.json',
    'chat_template.jinja',
    'model.safetensors',
    'modeling_evil.py',
    'onnx/model.onnx',
    'pytorch_model.bin',
    'tokenizer.json',
    'sub/config.json',
  );
  const choice = chooseFiles(snapshot, undefined);
  expect(choice).toMatchObject({ kind: 'directory', entry: undefined, index: undefined });
  expect(namesOf(choice.files)).toEqual(['config.json', 'chat_template.jinja', 'tokenizer.json', 'model.safetensors']);
});

test('sharded weights go by their index, and a left-over index beside one file is passed over', () => {
  const shards = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'];
  const snapshot = snapshotOf(
    'config.json',
    'model.safetensors.index.json',
    ...shards,
    'model-00001-of-00009.safetensors',
  );
  const choice = chooseFiles(snapshot, undefined);
  expect(choice.index?.path).toBe('model.safetensors.index.json');
  const index = JSON.stringify({ weight_map: { b: shards[1], a: shards[0], c: shards[1] } });
  expect(namesOf(shardsOf(index, snapshot))).toEqual(shards);
  expect(
    chooseFiles(snapshotOf('config.json', 'model.safetensors', 'model.safetensors.index.json'), undefined).index,
  ).toBeUndefined();
});

// B11, at the source: a shard that is not there is an error, never left out.
test.each([
  '{',
  '[]',
  '{}',
  '{"weight_map":{}}',
  '{"weight_map":{"a":"model-9.safetensors"}}',
  '{"weight_map":{"a":7}}',
  '{"weight_map":{"a":"../x"}}',
])('the index %s is refused', (index) => {
  expect(() => shardsOf(index, snapshotOf('model.safetensors', '../x'))).toThrow(InvalidModelError);
});

test('a selector asks for GGUF even where safetensors lie', () => {
  const snapshot = snapshotOf('config.json', 'model.safetensors', 'm-Q4_0.gguf');
  expect(chooseFiles(snapshot, 'q4_0')).toMatchObject({ kind: 'gguf', entry: 'm-Q4_0.gguf' });
  expect(chooseFiles(snapshot, undefined).kind).toBe('directory');
});

test('without a selector a format of about 4 bits is taken, the better ones first', () => {
  const choose = (...paths: string[]) => chooseFiles(snapshotOf(...paths), undefined).entry;
  expect(choose('only.gguf')).toBe('only.gguf');
  expect(choose('m.Q8_0.gguf', 'm.Q4_0.gguf', 'm.Q4_K_M.gguf', 'm.F16.gguf')).toBe('m.Q4_K_M.gguf');
  expect(choose('m.Q8_0.gguf', 'm.Q2_K.gguf', 'm.F16.gguf')).toBe('m.Q8_0.gguf');
  expect(choose('m-f16.gguf', 'mmproj-m-f16.gguf', 'm.imatrix.gguf')).toBe('m-f16.gguf');
});

test('when nothing or more than one thing matches, the choices are listed', () => {
  const snapshot = snapshotOf('m-Q2_K.gguf', 'm-Q3_K_L.gguf');
  expect(() => chooseFiles(snapshot, undefined)).toThrow(ModelNotFoundError);
  expect(() => chooseFiles(snapshot, undefined)).toThrow('m-Q2_K.gguf (1.0 kB), m-Q3_K_L.gguf');
  expect(() => chooseFiles(snapshot, 'Q8_0')).toThrow("'Q8_0' matches 0 of them");
  expect(() => chooseFiles(snapshot, '*')).toThrow("'*' matches 2 of them");
  expect(() => chooseFiles(snapshotOf('pytorch_model.bin'), undefined)).toThrow('neither GGUF files nor config.json');
});

test('parts of a split file belong together, and an incomplete set is no choice', () => {
  const parts = ['Q8_0/m-Q8_0-00001-of-00002.gguf', 'Q8_0/m-Q8_0-00002-of-00002.gguf'];
  const choice = chooseFiles(snapshotOf(parts[1]!, 'm-Q4_0-00001-of-00003.gguf', parts[0]!), 'Q8_0');
  expect(choice.entry).toBe(parts[0]);
  expect(namesOf(choice.files)).toEqual(parts);
  expect(() => chooseFiles(snapshotOf('m-Q4_0-00001-of-00003.gguf'), 'Q4_0')).toThrow(ModelNotFoundError);
});

test.each([
  ['m-Q4_0.gguf', 'Q4_0', true],
  ['m.q4_0.gguf', 'Q4_0', true],
  ['m_q4_0.gguf', 'Q4_0', true],
  ['m-Q4_K_M.gguf', 'Q4_K', false],
  ['m-Q4_0_4_4.gguf', 'Q4_0', false],
  ['m-IQ4_0.gguf', 'Q4_0', false],
  ['sub/m-Q4_0.gguf', 'm-Q4_0.gguf', true],
  ['sub/m-Q4_0.gguf', 'm-q4_0', true],
  ['sub/m-Q4_0.gguf', 'sub/*', true],
  ['m-Q4_0.gguf', '*_0.gguf', true],
  ['m-Q4_0.gguf', 'm.Q4_0.gguf', false],
])('does %s match %s: %s', (path, selector, expected) => {
  expect(matchesSelector(path, selector)).toBe(expected);
});

test.each(['', '/x', '../x', 'a/../x', 'a//x', './x', 'a\\x', 'C:x', 'a\0', `${'a'.repeat(1025)}`])(
  'the path %j is unsafe',
  (path) => {
    expect(isSafeRelativePath(path)).toBe(false);
  },
);

test('unsafe paths of a listing are never chosen', () => {
  expect(() => chooseFiles(snapshotOf('../m.gguf', 'a/../../m.gguf'), undefined)).toThrow(ModelNotFoundError);
});
