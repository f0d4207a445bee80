import { loadModel } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';
const [path, variants, spec] = process.argv.slice(2);
const [n, dec] = spec!.split(',').map(Number);
const ids = Array.from({ length: n! }, (_, i) => 3 + ((i * 37) % 240));
const models = [];
for (const variant of variants!.split(',')) {
  const backend = await createCpuBackend({ numThreads: 2, ...(variant ? { variant } : {}) });
  models.push({ variant, model: await loadModel(path!, { backend, contextLength: 2048, maxTokensPerStep: 512 }) });
}
const acc: Record<string, { pre: number[]; dec: number[]; kinds: Record<string, number[]> }> = {};
for (let r = 0; r < 6; r++) for (const { variant, model } of models) {
  const s = model.createSession({ tokenIds: ids });
  const g = await s.generate({ maxTokens: 1 + dec!, temperature: 0, ignoreEos: true, profile: true }).result;
  await s.dispose();
  if (r === 0) continue;
  const a = (acc[variant!] ??= { pre: [], dec: [], kinds: {} });
  a.pre.push((1000 * n!) / g.timings.firstTokenMs!); a.dec.push((1000 * dec!) / g.timings.decodeMs);
  const k: Record<string, number> = {};
  for (const o of g.profile!) { const name = o.kind === 'linear' ? 'lin ' + o.name.replace(/.*layers\.\d+\./, '').slice(-20) : o.kind; k[name] = (k[name] ?? 0) + o.nanoseconds / 1e6; }
  for (const [kk, v] of Object.entries(k)) (a.kinds[kk] ??= []).push(v);
}
const med = (v: number[]) => [...v].sort((x, y) => x - y)[v.length >> 1]!;
for (const [v, a] of Object.entries(acc)) {
  console.log(v, 'prefill', med(a.pre).toFixed(1), 'decode', med(a.dec).toFixed(1));
  console.log('   ', Object.entries(a.kinds).map(([k, x]) => `${k} ${med(x).toFixed(1)}`).join(' | '));
}
process.exit(0);
