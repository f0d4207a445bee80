export { outcome, type ProcessOutcome, spawnSources } from './spawn-sources.ts';
