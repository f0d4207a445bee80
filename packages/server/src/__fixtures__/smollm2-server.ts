import { HearthError } from '@hearth/core';
import { resolveModel } from '@hearth/hub';
import { loadModel } from '@hearth/llm';
import { createServer, type HearthServer } from '../index.ts';

/** The default model, as `npm test` fetches it; without it there is nothing to run. */
export const smolLm2Path = await resolveModel('smollm2:135m', { offline: true }).then(({ path }) => path, missing);

function missing(error: unknown): null {
  if (HearthError.isInstance(error)) return null;
  throw error;
}

/** A server over SmolLM2-135M-Instruct, loaded. */
export async function smolLm2Server(): Promise<HearthServer> {
  const load = async () => {
    const model = await loadModel(smolLm2Path!);
    return { model, dispose: () => model.dispose() };
  };
  const server = createServer({ models: [{ name: 'smollm2', load }] });
  await server.preload('smollm2');
  return server;
}
