import { MarkerFinder } from './marker-finder.ts';
import type { OutputEvent } from './output-events.ts';
import { ToolCallReader } from './tool-call-reader.ts';
import { type ToolCallStyle, type ToolCallSyntax, toolCallSyntaxes } from './tool-call-style.ts';

/**
 * Finds the calls of tools in a text that comes in pieces. What is no call is content, to the last character; only the
 * markers of whole calls and the white space around them are left out.
 *
 * After a mistake in a call everything before the mistake is content and reading goes on at the mistake itself, so that
 * each unit is read once, whatever the model writes.
 */
export class ToolCallParser {
  readonly #syntax: ToolCallSyntax;
  readonly #toolNames: ReadonlySet<string>;
  readonly #createCallId: () => string;
  readonly #beginning: MarkerFinder;
  #state: 'in content' | 'in call' | 'after call' = 'in content';
  /** The end marker of the last call, as long as it may come. */
  #ending: MarkerFinder | undefined;
  #reader: ToolCallReader;
  /** All text of the call that is read, from the white space before its marker on. */
  #source = '';
  #isStarted = false;
  #numCalls = 0;
  /** Nothing but white space came since the start or since the last call. */
  #isAtGap = true;
  #events: OutputEvent[] = [];
  #content = '';

  constructor(style: ToolCallStyle, toolNames: readonly string[], createCallId: () => string) {
    this.#syntax = toolCallSyntaxes[style];
    this.#toolNames = new Set(toolNames);
    this.#createCallId = createCallId;
    this.#beginning = new MarkerFinder(this.#syntax.marker);
    this.#reader = new ToolCallReader(this.#toolNames);
  }

  push(text: string): OutputEvent[] {
    this.#pushUnits(text);
    this.#flushArguments();
    return this.#takeEvents();
  }

  /** Releases what was held back. Nothing may follow. */
  finish(): OutputEvent[] {
    if (this.#state === 'in call') this.#break();
    // What is held after a call is white space or the beginning of its end marker.
    if (this.#state === 'in content') {
      const held = this.#beginning.take();
      const isAfterCall = this.#isAtGap && this.#numCalls > 0;
      if (!isAfterCall || held.trim() !== '') this.#content += held;
    }
    return this.#takeEvents();
  }

  #pushUnits(text: string): void {
    for (let at = 0; at < text.length; at++) {
      const unit = text[at] as string;
      if (this.#state === 'in content') this.#inContent(unit);
      else if (this.#state === 'in call') this.#inCall(unit);
      else this.#afterCall(unit);
    }
  }

  #inContent(unit: string): void {
    const { mayOmitMarker, separator } = this.#syntax;
    if (this.#isAtGap && !this.#beginning.isInMarker) {
      if (mayOmitMarker && unit === '{') {
        this.#beginCall(this.#beginning.take());
        this.#inCall(unit);
        return;
      }
      if (unit === separator && this.#numCalls > 0) {
        this.#beginning.hold(unit);
        return;
      }
    }
    const text = this.#beginning.push(unit);
    if (text !== '') this.#isAtGap = false;
    this.#content += text;
    if (this.#beginning.isFound) this.#beginCall(this.#beginning.take());
  }

  #beginCall(source: string): void {
    this.#flushContent();
    this.#state = 'in call';
    this.#source = source;
    this.#isStarted = false;
    this.#reader = new ToolCallReader(this.#toolNames);
  }

  #inCall(unit: string): void {
    const state = this.#reader.push(unit);
    if (state === 'broken') {
      this.#break();
      this.#inContent(unit);
      return;
    }
    this.#source += unit;
    const name = this.#reader.startedName;
    if (name !== undefined && !this.#isStarted) {
      this.#isStarted = true;
      this.#events.push({ type: 'toolCallStart', index: this.#numCalls++, id: this.#createCallId(), name });
    }
    if (state === 'whole') this.#endCall();
  }

  #endCall(): void {
    this.#flushArguments();
    this.#events.push({ type: 'toolCallEnd', index: this.#numCalls - 1 });
    const { endMarker } = this.#syntax;
    this.#ending = endMarker === undefined ? undefined : new MarkerFinder(endMarker);
    this.#state = endMarker === undefined ? 'in content' : 'after call';
    this.#isAtGap = true;
  }

  /** The call that is read is none. */
  #break(): void {
    this.#flushArguments();
    if (this.#isStarted) {
      this.#events.push({ type: 'toolCallBroken', index: this.#numCalls - 1, text: this.#source });
    } else {
      this.#content += this.#source;
    }
    this.#state = 'in content';
    this.#isAtGap = false;
  }

  #afterCall(unit: string): void {
    const ending = this.#ending as MarkerFinder;
    const text = ending.push(unit);
    if (text === '' && !ending.isFound) return;
    this.#state = 'in content';
    // Models forget end markers; what came instead may begin the next call.
    this.#pushUnits(text);
  }

  #flushArguments(): void {
    if (this.#state !== 'in call' || !this.#isStarted) return;
    const text = this.#reader.takeArguments();
    if (text !== '') this.#events.push({ type: 'toolCallArguments', index: this.#numCalls - 1, text });
  }

  #flushContent(): void {
    if (this.#content !== '') this.#events.push({ type: 'content', text: this.#content });
    this.#content = '';
  }

  #takeEvents(): OutputEvent[] {
    this.#flushContent();
    const events = this.#events;
    this.#events = [];
    return events;
  }
}
