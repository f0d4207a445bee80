import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { selfSigned } from '../__fixtures__/self-signed.ts';
import { readTlsIdentity } from './tls.ts';

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearth-tls-'));
});

afterAll(() => rm(directory, { recursive: true }));

async function write(name: string, text: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, text);
  return path;
}

it('reads a certificate and its key', async () => {
  const { certificate, key } = selfSigned();
  const identity = await readTlsIdentity(await write('cert.pem', certificate), await write('key.pem', key));
  expect(identity).toEqual({ cert: Buffer.from(certificate), key: Buffer.from(key) });
});

it('refuses what is no pair, in a sentence', async () => {
  const certificate = await write('cert.pem', selfSigned().certificate);
  const refusal = /cert\.pem and the key .*key\.pem cannot be used together: /;
  await expect(readTlsIdentity(certificate, await write('key.pem', selfSigned().key))).rejects.toThrow(refusal);
  await expect(readTlsIdentity(certificate, await write('key.pem', 'no PEM'))).rejects.toThrow(refusal);
  await expect(readTlsIdentity(certificate, join(directory, 'gone.pem'))).rejects.toThrow(/gone\.pem cannot be read/);
});
