// The same texts without a server, in a process of its own: each message has them made once.
import { loadModel } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';

export interface BareSettings {
  readonly path: string;
  readonly contextLength: number;
  readonly cacheTokens: number;
  readonly numThreads: number;
  readonly numTokens: number;
  readonly prompts: readonly string[];
}

const { path, contextLength, cacheTokens, numThreads, numTokens, prompts }: BareSettings = JSON.parse(process.argv[2]!);
const backend = await createCpuBackend({ numThreads });
const model = await loadModel(path, { backend, contextLength, cacheTokens, ownsBackend: true });
const rendered = await Promise.all(prompts.map((content) => model.renderChat([{ role: 'user', content }])));

async function answer(tokenIds: Int32Array, seed: number): Promise<void> {
  const session = model.createSession({ tokenIds });
  const options = { maxTokens: numTokens, ignoreEos: true, temperature: 0.8, topK: 40, seed };
  for await (const _ of session.generate(options));
  await session.dispose();
}

process.on('message', async () => {
  await Promise.all(rendered.map(answer));
  process.send!('done');
});
process.on('disconnect', () => void model.dispose());
process.send!('ready');
