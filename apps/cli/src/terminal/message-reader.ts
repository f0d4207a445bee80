import { createInterface, type Interface, type Key } from 'node:readline';
import { Writable } from 'node:stream';
import { type Styles, stylesFor } from '@hearth/command-line';

/** Terminals that know it mark pasted text, so that its line ends are text and do not send it (xterm, "bracketed paste"). */
const pasteMarksOn = '\u001b[?2004h';
const pasteMarksOff = '\u001b[?2004l';

export interface MessageReaderOptions {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  /** What there is of the message that is awaited, after each key, and when it begins to be awaited. */
  onTyping?(draft: string): void;
  /** Ctrl-C while no message is awaited. */
  onInterrupt(): void;
  /** The user has left (Ctrl-D, or Ctrl-C twice), maybe while no message is awaited. */
  onClose(): void;
}

/**
 * Reads messages of one or more lines from a terminal. Nothing that is typed or pasted while nobody waits for it is lost: it
 * is shown at the next prompt, and complete messages are given out in order.
 */
export class MessageReader {
  readonly #lines: Interface;
  readonly #output: NodeJS.WriteStream;
  readonly #echo: Echo;
  readonly #styles: Styles;
  readonly #onTyping: ((draft: string) => void) | undefined;
  readonly #onInterrupt: () => void;
  readonly #waiting: string[] = [];
  /** The lines of a message that is not complete yet. */
  #parts: string[] = [];
  #pasting = false;
  #closed = false;
  #interruptedOnce = false;
  #deliver: ((message: string | undefined) => void) | undefined;

  constructor({ input, output, onTyping, onInterrupt, onClose }: MessageReaderOptions) {
    this.#output = output;
    this.#echo = new Echo(output);
    this.#styles = stylesFor(output);
    this.#onTyping = onTyping;
    this.#onInterrupt = onInterrupt;
    this.#lines = createInterface({ input, output: this.#echo, terminal: true, historySize: 1000 });
    this.#lines.on('line', (line) => this.#takeLine(line));
    this.#lines.on('SIGINT', () => this.#interrupt());
    this.#lines.once('close', () => {
      this.#closed = true;
      this.#mark(pasteMarksOff);
      onClose();
      this.#settle(undefined);
    });
    input.on('keypress', (_text: string | undefined, key: Key | undefined) => {
      if (key?.name === 'paste-start') this.#pasting = true;
      if (key?.name === 'paste-end') this.#pasting = false;
      this.#tellDraft();
    });
    this.#mark(pasteMarksOn);
  }

  /** The next message, trimmed; undefined when the user has left. One call at a time. */
  async next(): Promise<string | undefined> {
    const typedAhead = this.#waiting.shift();
    if (typedAhead !== undefined) {
      this.#output.write(`${this.#prompt}${typedAhead}\n`);
      return typedAhead;
    }
    if (this.#closed) return undefined;
    return new Promise((resolve) => {
      this.#deliver = resolve;
      this.#ask();
    });
  }

  close(): void {
    this.#lines.close();
  }

  get #prompt(): string {
    return this.#parts.length === 0 ? this.#styles.cyan('> ') : '. ';
  }

  /** Shows the prompt with what has been typed of the line. It is typed anew, for readline believes it to be shown already. */
  #ask(): void {
    const typed = this.#lines.line;
    this.#echo.muted = true;
    this.#clearLine();
    this.#echo.muted = false;
    this.#lines.setPrompt(this.#prompt);
    this.#lines.prompt();
    if (typed !== '') this.#lines.write(typed);
    this.#tellDraft();
  }

  #tellDraft(): void {
    if (this.#deliver) this.#onTyping?.([...this.#parts, this.#lines.line].join('\n').trimStart());
  }

  #takeLine(line: string): void {
    this.#interruptedOnce = false;
    const goesOn = this.#pasting || line.endsWith('\\');
    if (goesOn) {
      this.#parts.push(this.#pasting ? line : line.slice(0, -1));
      if (this.#deliver) this.#ask();
      return;
    }
    const message = [...this.#parts, line].join('\n').trim();
    this.#parts = [];
    if (this.#deliver) this.#settle(message);
    else this.#waiting.push(message);
  }

  #settle(message: string | undefined): void {
    this.#echo.muted = true;
    this.#deliver?.(message);
    this.#deliver = undefined;
  }

  /** Ctrl-C stops what runs; else discards what has been typed; else leaves, when it comes twice. */
  #interrupt(): void {
    const typed = this.#parts.length > 0 || this.#waiting.length > 0 || this.#lines.line !== '';
    this.#parts = [];
    this.#waiting.length = 0;
    this.#clearLine();
    if (!this.#deliver) {
      this.#onInterrupt();
      return;
    }
    if (this.#interruptedOnce && !typed) {
      this.close();
      return;
    }
    // One that comes just after an answer has ended was meant for the answer.
    this.#interruptedOnce = !typed;
    this.#output.write(typed ? '\n' : `\n${this.#styles.dim('Ctrl-C again leaves, as does Ctrl-D.')}\n`);
    this.#ask();
  }

  #clearLine(): void {
    this.#lines.write(null, { ctrl: true, name: 'e' });
    this.#lines.write(null, { ctrl: true, name: 'u' });
  }

  #mark(sequence: string): void {
    if (this.#output.isTTY && process.env.TERM !== 'dumb') this.#output.write(sequence);
  }
}

/** What readline writes to: the terminal, or nothing while an answer is being written there. */
class Echo extends Writable {
  muted = true;
  readonly #output: NodeJS.WriteStream;

  constructor(output: NodeJS.WriteStream) {
    super({ decodeStrings: false });
    this.#output = output;
    output.on('resize', () => this.emit('resize'));
  }

  get columns(): number {
    return this.#output.columns;
  }

  override _write(text: string, _encoding: BufferEncoding, done: () => void): void {
    if (!this.muted) this.#output.write(text);
    done();
  }
}
