export type { Comparison } from './compare.ts';
export { describeReport } from './describe-report.ts';
export { bundledGoldens, findGoldens } from './find-goldens.ts';
export { openGoldenModel } from './golden-model.ts';
export { type Goldens, openGoldens } from './goldens.ts';
export type { GoldenManifest, GoldenPrompt, GoldenRun, GoldenRunName, GoldenTensor, Tolerance } from './manifest.ts';
export { type ReplayOptions, type ReplayProgress, type ReplayReport, replayGoldens } from './replay.ts';
export type { GreedyReport } from './replay-greedy.ts';
export { type WeightsForm, weightSources } from './weights.ts';
