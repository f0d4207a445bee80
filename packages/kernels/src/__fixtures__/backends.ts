import type { Backend } from '@hearth/core';
import { createReferenceBackend } from '@hearth/reference';
import { afterAll } from 'vitest';
import { type CpuBackendOptions, createCpuBackend, kernelVariants } from '../index.ts';

/** Names of the variants that this machine can run. */
export const supportedVariants = kernelVariants()
  .filter((variant) => variant.isSupported)
  .map((variant) => variant.name);

const open = new Map<string, Promise<Backend>>();

/** A CPU backend that lives until the test file ends. */
export function cpuBackend(options: CpuBackendOptions = {}): Promise<Backend> {
  const key = JSON.stringify(options);
  let backend = open.get(key);
  if (!backend) {
    backend = createCpuBackend(options);
    open.set(key, backend);
  }
  return backend;
}

/** What results are compared with: the reference, from which every variant must not differ in a bit. */
export async function backendsToCompare(): Promise<{ name: string; backend: Backend }[]> {
  const variants = supportedVariants.map(async (variant) => ({
    name: variant,
    backend: await cpuBackend({ variant, numThreads: 2 }),
  }));
  return [{ name: 'reference', backend: createReferenceBackend() }, ...(await Promise.all(variants))];
}

/** What tests leave behind is disposed in the order that backends ask for: executables, then weights. */
const disposals: (() => Promise<void>)[] = [];

export function disposeAtEnd(object: { dispose(): Promise<void> }): void {
  disposals.push(() => object.dispose());
}

afterAll(async () => {
  for (const dispose of disposals.reverse()) await dispose();
  for (const backend of open.values()) await (await backend).dispose();
});
