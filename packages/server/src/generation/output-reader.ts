import { createOutputParser, type OutputEvent, type OutputParser, type OutputParserOptions } from '@hearth/chat-format';
import type { GenerateResult, TextDelta } from '@hearth/engine';
import { ContentLogprobs } from './content-logprobs.ts';
import type { TextLogprob, TextLogprobs } from './text-logprobs.ts';
import { WholeCalls } from './whole-calls.ts';

export interface OutputReaderOptions {
  /** What is looked for in the text. */
  readonly parser: OutputParserOptions;
  /** Whether a constraint sees to it that each call is whole, unless the text is cut off. */
  readonly callsAreCertain: boolean;
  /** Whether nothing may stand before the first call, so that what is left of one that was cut off is no content. */
  readonly beginsWithCall: boolean;
  /** Further calls are left out. */
  readonly mostCalls: number;
  /** Present when log-probabilities are asked for. */
  readonly logprobs: TextLogprobs | undefined;
  /** Whether log-probabilities of the content only are wanted. */
  readonly isContentOnly: boolean;
}

/** Reads the tokens of one generation as parts of an answer. */
export class OutputReader {
  readonly #parser: OutputParser;
  readonly #calls: WholeCalls;
  readonly #beginsWithCall: boolean;
  readonly #logprobs: TextLogprobs | undefined;
  readonly #content: ContentLogprobs | undefined;
  #newLogprobs: TextLogprob[] = [];
  /** Tokens of the block in which the model thinks, its markers included. */
  numReasoningTokens = 0;

  constructor(options: OutputReaderOptions) {
    this.#parser = createOutputParser(options.parser);
    this.#calls = new WholeCalls({ areCertain: options.callsAreCertain, mostCalls: options.mostCalls });
    this.#beginsWithCall = options.beginsWithCall;
    this.#logprobs = options.logprobs;
    this.#content = options.logprobs && options.isContentOnly ? new ContentLogprobs() : undefined;
  }

  /** The events that this token makes certain; often none. */
  push(delta: TextDelta): readonly OutputEvent[] {
    const wasReasoning = this.#parser.isReasoning;
    const events = this.#read(delta.text);
    if (wasReasoning || this.#parser.isReasoning) this.numReasoningTokens++;
    if (this.#logprobs) this.#keep(this.#logprobs.push(delta));
    return events;
  }

  /** The last events. Nothing may follow. */
  finish(result: GenerateResult): readonly OutputEvent[] {
    const last = this.#calls.pass(this.#parser.finish());
    const isCutCall = this.#beginsWithCall && this.#calls.numCalls === 0;
    const events = isCutCall ? last.filter(({ type }) => type !== 'content') : last;
    this.#content?.read('', contentOf(events));
    if (this.#logprobs) this.#keep(this.#logprobs.finish(result), true);
    return events;
  }

  /** Log-probabilities since the last time; undefined when none are asked for. */
  takeLogprobs(): readonly TextLogprob[] | undefined {
    if (!this.#logprobs) return undefined;
    const logprobs = this.#newLogprobs;
    this.#newLogprobs = [];
    return logprobs;
  }

  #read(text: string): readonly OutputEvent[] {
    if (!this.#content) return this.#calls.pass(this.#parser.push(text));
    // One by one, as they show where in the text the content stands.
    return text.split('').flatMap((unit) => {
      const events = this.#calls.pass(this.#parser.push(unit));
      this.#content!.read(unit, contentOf(events));
      return events;
    });
  }

  #keep(tokens: readonly TextLogprob[], isEnd = false): void {
    this.#content?.add(tokens);
    this.#newLogprobs.push(...(this.#content?.take(isEnd) ?? tokens));
  }

  /** Why it ended, after `finish`. A call that the limit has cut off is none. */
  finishReason(result: GenerateResult): 'stop' | 'length' | 'tool_calls' {
    const isCut = result.finishReason === 'length' && (this.#calls.isBroken || this.#calls.numCalls === 0);
    if (isCut) return 'length';
    return this.#calls.numCalls > 0 ? 'tool_calls' : 'stop';
  }
}

function contentOf(events: readonly OutputEvent[]): string {
  return events.map((event) => (event.type === 'content' ? event.text : '')).join('');
}
