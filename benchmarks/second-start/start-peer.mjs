// One start of node-llama-cpp, from nothing to the first token: see start-hearth.mjs.
// node start-peer.mjs MODEL THREADS ENTRY
import { pathToFileURL } from 'node:url';

const [modelPath, threads, entry] = process.argv.slice(2);
const marks = { node: performance.now() };
const { getLlama } = await import(pathToFileURL(entry).href);
marks.import = performance.now();
const llama = await getLlama({ gpu: false, build: 'never', maxThreads: Number(threads), logLevel: 'error' });
marks.backend = performance.now();
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: 1024, threads: Number(threads), batchSize: 512 });
marks.loaded = performance.now();
const tokenIds = [3, 40, 77, 114, 151, 188, 225, 22, 59, 96];
for await (const _ of context.getSequence().evaluate(tokenIds, { temperature: 0, yieldEogToken: true })) break;
marks.firstToken = performance.now();
console.log(JSON.stringify({ at: performance.timeOrigin + marks.firstToken, marks }));
process.exit(0);
