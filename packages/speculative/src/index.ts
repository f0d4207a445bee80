export { countAccepted } from './count-accepted.ts';
export {
  type DraftModel,
  type DraftSession,
  draftModel,
} from './draft-model/draft-model.ts';
export { VocabularyMismatchError } from './draft-model/vocabulary-mismatch-error.ts';
export { AcceptanceGate, type Attempt, type GateOptions, type GateState } from './gate/acceptance-gate.ts';
export { type PromptLookupOptions, promptLookup } from './prompt-lookup/prompt-lookup.ts';
export type { Proposer, SequenceProposer, TargetModel, Vocabulary } from './proposer.ts';
export {
  type ResolvedSpeculationOptions,
  resolveSpeculation,
  type SpeculationOptions,
} from './speculator/speculation-options.ts';
export { type ProposerStats, type SpeculationStats, sumSpeculationStats } from './speculator/speculation-stats.ts';
export { Speculator } from './speculator/speculator.ts';
