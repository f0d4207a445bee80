// One start of Hearth, from nothing to the first token. Plain JavaScript, so that no compiler is started.
// node start-hearth.mjs MODEL THREADS [PACKED_DIRECTORY [wait]]
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const [modelPath, threads, directory, wait] = process.argv.slice(2);
const marks = { node: performance.now() };
const [{ loadModel }, { createCpuBackend }] = await Promise.all([import('@hearth/engine'), import('@hearth/kernels')]);
marks.import = performance.now();

const backend = await createCpuBackend({ numThreads: Number(threads) });
const onProgress = ({ phase }) => {
  marks[phase] ??= performance.now();
};
const packedCache = directory && { directory, maxBytes: 1e12, minBytes: 0, onWarning: console.error };
const model = await loadModel(modelPath, { backend, ownsBackend: true, contextLength: 1024, onProgress, packedCache });
marks.loaded = performance.now();
const tokenIds = [3, 40, 77, 114, 151, 188, 225, 22, 59, 96];
const generation = model.createSession({ tokenIds }).generate({ maxTokens: 2, temperature: 0, ignoreEos: true });
for await (const _ of generation) {
  marks.firstToken ??= performance.now();
}
const at = performance.timeOrigin + marks.firstToken;
console.log(JSON.stringify({ at, marks, fromCache: model.info.weightsFromCache }));
if (wait) {
  const isKept = () => readdirSync(directory).some((name) => name.endsWith('.packed'));
  for (let i = 0; i < 600 && !isKept(); i++) await sleep(100);
}
await model.dispose();
