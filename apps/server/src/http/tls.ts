import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { UsageError } from '@hearth/command-line';

/** Both in PEM. */
export interface TlsIdentity {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** @throws UsageError when a file cannot be read, is no PEM, or the key is not that of the certificate */
export async function readTlsIdentity(certificate: string, key: string): Promise<TlsIdentity> {
  const identity = { cert: await read(certificate), key: await read(key) };
  try {
    createSecureContext(identity);
  } catch (error) {
    throw new UsageError(
      `The certificate ${certificate} and the key ${key} cannot be used together: ${(error as Error).message}.`,
    );
  }
  return identity;
}

async function read(path: string): Promise<Buffer> {
  return readFile(path).catch((error: Error) => {
    throw new UsageError(`The TLS file ${path} cannot be read: ${error.message}.`);
  });
}
