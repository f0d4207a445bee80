export {
  type Constraint,
  type ConstraintCompiler,
  type ConstraintCompilerOptions,
  createConstraintCompiler,
} from './constraint-compiler.ts';
export { ConstraintError } from './constraint-error.ts';
export type { ConstraintLimits } from './constraint-limits.ts';
export type { ConstraintMatcher } from './constraint-matcher.ts';
export type { ConstraintSource, TagsSource } from './constraint-source.ts';
export type { Vocabulary, VocabularyOptions } from './vocabulary.ts';
