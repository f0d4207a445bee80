import { printable, stylesFor } from '@hearth/command-line';
import { HearthError } from '@hearth/core';
import { chat, compose, type GenerateResult, type Generation, type Model, type Session } from '@hearth/engine';
import { type AnswerFlags, answerOptions } from './answer-options.ts';
import { Composer } from './composer.ts';
import { loadConversation, type Message, saveConversation } from './saved-conversation.ts';
import { MessageReader } from './terminal/message-reader.ts';

export interface ConversationOptions extends AnswerFlags {
  readonly system?: string;
  /** Whether messages are computed while they are typed. Default: true. */
  readonly compose?: boolean;
}

const help = `/help            this list
/system TEXT     set the system message and start anew
/reset           start anew
/stats           tokens and speed of the last answer
/save FILE       write the conversation to a file, and what was computed of it to FILE.session
/load FILE       go on with a conversation that was saved
/exit            leave (also Ctrl-D)
Ctrl-C stops an answer. A line that ends in \\ goes on in the next one; pasted lines stay together until Enter.`;

/** A conversation in the terminal: one session of the model, so that each turn computes only what is new. */
export class Conversation {
  readonly #model: Model;
  readonly #options: ConversationOptions;
  readonly #signal: AbortSignal;
  readonly #styles = stylesFor(process.stdout);
  readonly #composer = new Composer((draft, signal) => this.#compose(draft, signal));
  #session: Session;
  #messages: readonly Message[];
  #answering: Generation | undefined;
  #last: GenerateResult | undefined;

  /** @param signal ends the conversation */
  constructor(model: Model, options: ConversationOptions, signal: AbortSignal) {
    this.#model = model;
    this.#options = options;
    this.#signal = signal;
    this.#session = model.createSession();
    this.#messages = systemMessages(options.system);
  }

  /** Reads and answers until the user leaves. */
  async run(messages: Pick<MessageReader, 'next' | 'close'> = this.#terminal()): Promise<void> {
    const leave = () => messages.close();
    this.#signal.addEventListener('abort', leave, { once: true });
    try {
      for (;;) {
        const text = await messages.next();
        await this.#composer.stop();
        if (text === undefined || text === '/exit' || text === '/quit') break;
        if (text.startsWith('/')) await this.#command(text);
        else if (text !== '') await this.#answer(text);
      }
    } finally {
      this.#signal.removeEventListener('abort', leave);
      messages.close();
      await this.#composer.stop();
      await this.#session.dispose();
    }
  }

  /** What there is of the next message has changed. */
  typed(draft: string): void {
    if (this.#options.compose !== false) this.#composer.typed(draft);
  }

  #terminal(): MessageReader {
    const stopAnswer = () => void this.#answering?.cancel();
    return new MessageReader({
      input: process.stdin,
      output: process.stdout,
      onTyping: (draft) => this.typed(draft),
      onInterrupt: stopAnswer,
      onClose: stopAnswer,
    });
  }

  async #command(text: string): Promise<void> {
    const [name, ...words] = text.split(' ');
    const path = words.join(' ').trim();
    const { dim } = this.#styles;
    if (name === '/reset') {
      this.#messages = this.#messages.filter((message) => message.role === 'system');
      this.#print(dim('A new conversation.'));
    } else if (name === '/system') {
      this.#messages = systemMessages(words.join(' ') || undefined);
      this.#print(dim('A new conversation with this system message.'));
    } else if (name === '/stats') {
      this.#print(dim(this.#last ? describe(this.#last) : 'There is no answer yet.'));
    } else if ((name === '/save' || name === '/load') && path !== '') {
      await this.#file(name, path);
    } else {
      this.#print(name === '/help' ? help : `There is no command ${printable(text)}.\n${help}`);
    }
  }

  async #file(command: '/save' | '/load', path: string): Promise<void> {
    const { dim, red } = this.#styles;
    try {
      if (command === '/save') {
        await saveConversation(path, this.#messages, this.#session, this.#signal);
        this.#print(dim('Saved.'));
        return;
      }
      const { messages, session, problem } = await loadConversation(path, this.#model, this.#signal);
      this.#messages = messages;
      this.#last = undefined;
      if (session) {
        await this.#session.dispose();
        this.#session = session;
      }
      this.#print(dim(`A conversation of ${messages.length} messages.`));
      if (problem) this.#print(dim(printable(`The next answer computes it anew. ${problem}`)));
    } catch (error) {
      if (!HearthError.isInstance(error) || this.#signal.aborted) throw error;
      this.#print(red(printable(error.message)));
    }
  }

  async #compose(draft: string, signal: AbortSignal): Promise<void> {
    if (draft.startsWith('/') || signal.aborted) return;
    await compose(this.#model, this.#messages, draft, { session: this.#session, signal });
  }

  async #answer(text: string): Promise<void> {
    const messages: Message[] = [...this.#messages, { role: 'user', content: text }];
    try {
      const options = { ...answerOptions(this.#options), signal: this.#signal, session: this.#session };
      const generation = await chat(this.#model, messages, options);
      this.#answering = generation;
      for await (const event of generation) process.stdout.write(printable(event.text));
      this.#last = await generation.result;
      this.#messages = [...messages, { role: 'assistant', content: this.#last.text }];
      if (this.#last.finishReason !== 'stop') process.stdout.write(this.#styles.dim(` [${this.#last.finishReason}]`));
    } catch (error) {
      if (!HearthError.isInstance(error) || this.#signal.aborted) throw error;
      // The message is not part of the conversation then; the user may change it and try again.
      const hint = error.code === 'context_length_exceeded' ? ' Or start anew with /reset.' : '';
      process.stdout.write(this.#styles.red(printable(error.message)) + hint);
    } finally {
      this.#answering = undefined;
    }
    process.stdout.write('\n\n');
  }

  #print(text: string): void {
    process.stdout.write(`${text}\n`);
  }
}

function systemMessages(system: string | undefined): Message[] {
  return system === undefined ? [] : [{ role: 'system', content: system }];
}

function describe({ usage, timings, speculation }: GenerateResult): string {
  const speed = (tokensPerSecond: number | null) =>
    tokensPerSecond === null ? '' : ` at ${tokensPerSecond.toFixed(1)} tokens/s`;
  const first = timings.firstTokenMs === null ? '' : `, first after ${Math.round(timings.firstTokenMs)} ms`;
  const guesses = speculation
    ? `; ${speculation.acceptedTokens} of ${speculation.proposedTokens} guesses were right`
    : '';
  return (
    `prompt ${usage.promptTokens} tokens, ${usage.cachedTokens} of them cached${speed(timings.prefillTokensPerSecond)}; ` +
    `answer ${usage.completionTokens} tokens${speed(timings.tokensPerSecond)}${first}${guesses}`
  );
}
