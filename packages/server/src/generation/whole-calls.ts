import type { OutputEvent, ToolCallStart } from '@hearth/chat-format';

/**
 * Makes the events of calls fit to be sent, as what was sent cannot be taken back.
 *
 * As a rule a call is held back until it is whole, and what proves to be none is content. Where a constraint makes calls
 * certain, they go on as they come, and of one that the limit of tokens cuts off nothing more is said.
 */
export class WholeCalls {
  readonly #areCertain: boolean;
  readonly #mostCalls: number;
  #held: { readonly start: ToolCallStart; arguments: string } | undefined;
  /** Calls that were whole. */
  numCalls = 0;
  /** Whether the last one was broken. */
  isBroken = false;

  constructor({ areCertain, mostCalls }: { readonly areCertain: boolean; readonly mostCalls: number }) {
    this.#areCertain = areCertain;
    this.#mostCalls = mostCalls;
  }

  /** The events to be sent. Their calls are numbered without gaps; those above the most that are wanted are left out. */
  pass(events: readonly OutputEvent[]): readonly OutputEvent[] {
    if (events.every(({ type }) => type === 'content' || type === 'reasoning')) return events;
    return events.flatMap((event) => this.#pass(event));
  }

  #pass(event: OutputEvent): OutputEvent[] {
    const index = this.numCalls;
    const isWanted = index < this.#mostCalls;
    switch (event.type) {
      case 'toolCallStart':
        this.isBroken = false;
        if (this.#areCertain) return isWanted ? [{ ...event, index }] : [];
        this.#held = { start: { ...event, index }, arguments: '' };
        return [];
      case 'toolCallArguments':
        if (this.#areCertain) return isWanted ? [{ ...event, index }] : [];
        this.#held!.arguments += event.text;
        return [];
      case 'toolCallEnd': {
        if (!isWanted) return [];
        this.numCalls++;
        if (this.#areCertain) return [{ ...event, index }];
        const { start, arguments: text } = this.#held!;
        return [start, { type: 'toolCallArguments', index, text }, { ...event, index }];
      }
      case 'toolCallBroken':
        this.isBroken = true;
        return this.#areCertain ? [] : [{ type: 'content', text: event.text }];
      default:
        return [event];
    }
  }
}
