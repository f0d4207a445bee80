import type { CompiledGrammar, GrammarCompiler } from '@mlc-ai/web-xgrammar';
import { ConstraintError } from '../constraint-error.ts';
import type { ConstraintSource } from '../constraint-source.ts';
import { LruMap } from '../lru-map.ts';
import { type GrammarText, translateSource } from '../translate-source.ts';
import { LibraryError, type LoadOptions, loadXGrammar, type XGrammar } from './load-xgrammar.ts';
import { TokenMatcher } from './token-matcher.ts';
import { TokenTexts, type VocabularyTables } from './token-texts.ts';

/** What a thread starts with. */
export interface GrammarEngineInit extends LoadOptions {
  readonly vocabulary: VocabularyTables;
  /** Compiled constraints that are kept. */
  readonly numCached: number;
}

/** Asks for masks. The thread may have been replaced since the last time, or have let go of the matcher. */
export interface MasksInput {
  readonly matcher: number;
  /** The constraint, with which a matcher is made if there is none. */
  readonly source?: string | undefined;
  /** Tokens that the matcher has accepted before: 0 with a source. */
  readonly numAccepted: number;
  readonly newTokenIds: readonly number[];
  readonly guesses: readonly number[];
}

export interface MasksOutput {
  readonly masks: readonly Uint32Array<ArrayBuffer>[];
}

/** Matchers are made again when they are asked for, so this bounds memory only. */
const mostMatchers = 256;

interface Instance {
  readonly xgrammar: XGrammar;
  readonly compiler: GrammarCompiler;
}

/** Compiles constraints for one vocabulary and follows texts. Lives in a worker thread. */
export class GrammarEngine {
  readonly #init: GrammarEngineInit;
  readonly #texts: TokenTexts;
  readonly #compiled: LruMap<string, CompiledGrammar>;
  readonly #matchers = new LruMap<number, TokenMatcher>(mostMatchers, (matcher) => matcher.dispose());
  /** Undefined after an error in the library, until it is needed again. */
  #instance: Instance | undefined;
  /** Reads grammars first, because an error in one ends the whole instance. It has no vocabulary, so it is soon replaced. */
  #reader: XGrammar | undefined;

  constructor(init: GrammarEngineInit) {
    this.#init = init;
    this.#texts = new TokenTexts(init.vocabulary);
    this.#compiled = new LruMap(init.numCached, (grammar) => grammar.dispose());
  }

  /** Loads the library and the vocabulary ahead of the first call. */
  async start(): Promise<void> {
    await this.#ready();
  }

  /** @throws ConstraintError when the constraint makes no sense or no text obeys it */
  async compile(source: string): Promise<void> {
    const matcher = await this.#newMatcher(source);
    try {
      await this.#run(() => matcher.masks([]));
    } finally {
      matcher.dispose();
    }
  }

  /** Undefined when there is no such matcher; ask again with the source and every token. */
  async masks({
    matcher: id,
    source,
    numAccepted,
    newTokenIds,
    guesses,
  }: MasksInput): Promise<MasksOutput | undefined> {
    let matcher = this.#matchers.get(id);
    if (source !== undefined) {
      matcher = await this.#newMatcher(source);
      this.#matchers.set(id, matcher);
    }
    if (matcher === undefined || matcher.length !== numAccepted) return undefined;
    const { length } = matcher;
    const found = matcher;
    try {
      return await this.#run(async () => {
        found.accept(newTokenIds);
        return { masks: await found.masks(guesses) };
      });
    } catch (error) {
      // Whatever was accepted of them does not count.
      if (found.length !== length) this.#matchers.delete(id);
      throw error;
    }
  }

  close(matcher: number): void {
    this.#matchers.delete(matcher);
  }

  async #newMatcher(source: string): Promise<TokenMatcher> {
    const grammar = await this.#compiledOf(source);
    return this.#run(async ({ library }) => {
      const matcher = await library.GrammarMatcher.createGrammarMatcher(grammar);
      return new TokenMatcher(matcher, this.#texts);
    });
  }

  async #compiledOf(source: string): Promise<CompiledGrammar> {
    const known = this.#compiled.get(source);
    if (known !== undefined) return known;
    const grammarText = translateSource(JSON.parse(source) as ConstraintSource);
    await this.#read(grammarText);
    const compile = () =>
      this.#run(async (_, { compiler }) =>
        grammarText.language === 'ebnf'
          ? compiler.compileGrammar(grammarText.text)
          : compiler.compileStructuralTag(grammarText.text),
      );
    const isFresh = this.#compiled.size === 0;
    // The memory may be full of other constraints, so it gets a second chance with an empty one.
    const grammar = await compile().catch((error: unknown) => {
      if (isFresh) throw error;
      return compile();
    });
    this.#compiled.set(source, grammar);
    return grammar;
  }

  async #read({ language, text }: GrammarText): Promise<void> {
    const { path, memoryMiB } = this.#init;
    this.#reader ??= await loadXGrammar({ path, memoryMiB });
    const { library, run } = this.#reader;
    try {
      const grammar = await run(() =>
        language === 'ebnf' ? library.Grammar.fromEBNF(text) : library.Grammar.fromStructuralTag(text),
      );
      grammar.dispose();
    } catch (error) {
      this.#reader = undefined;
      if (!(error instanceof LibraryError)) throw error;
      throw new ConstraintError(`The grammar cannot be read: ${namingTheEnd(error.message)}`, { cause: error });
    }
  }

  /** Calls the library. After an error in it, everything that it holds is given up; matchers are made again when asked. */
  async #run<T>(call: (xgrammar: XGrammar, instance: Instance) => Promise<T>): Promise<T> {
    const instance = await this.#ready();
    try {
      return await instance.xgrammar.run(() => call(instance.xgrammar, instance));
    } catch (error) {
      if (error instanceof ConstraintError) throw error;
      this.#instance = undefined;
      this.#compiled.clear();
      this.#matchers.clear();
      if (!(error instanceof LibraryError)) throw error;
      throw new ConstraintError(`The constraint cannot be followed: ${error.message}`, { cause: error });
    }
  }

  async #ready(): Promise<Instance> {
    if (this.#instance !== undefined) return this.#instance;
    const { path, memoryMiB, vocabulary } = this.#init;
    const xgrammar = await loadXGrammar({ path, memoryMiB });
    const compiler = await xgrammar.run(async () => {
      const { GrammarCompiler, TokenizerInfo } = xgrammar.library;
      const { vocabSize, endTokenIds } = vocabulary;
      const letters = [...this.#texts.inLetters()];
      const info = await TokenizerInfo.createTokenizerInfo(letters, 'byte_level', false, vocabSize, [...endTokenIds]);
      // Its own cache knows no limit; ours does.
      return GrammarCompiler.createGrammarCompiler(info, false);
    });
    this.#instance = { xgrammar, compiler };
    return this.#instance;
  }
}

/** XGrammar says nothing of what it found where the text was over. */
function namingTheEnd(message: string): string {
  return message.replace(/but got\s*$/, 'but the grammar ends there.');
}
