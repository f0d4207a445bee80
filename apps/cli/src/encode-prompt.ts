import { UsageError } from '@hearth/command-line';
import type { PreparedModel } from '@hearth/engine';

export interface Prompt {
  readonly prompt: string;
  /** System message of the chat. */
  readonly system?: string | undefined;
}

export interface EncodePromptOptions {
  /** Continue it as text, without the chat template. */
  readonly raw: boolean;
  readonly signal: AbortSignal;
}

/** What encodes; a model is one too, loaded or not. */
type Encoder = Pick<PreparedModel, 'chatTemplate' | 'tokenizer' | 'renderChat'>;

/** Says on standard error, once before any number of prompts, when they will not be taken as chat messages. */
export function warnOfNoTemplate({ chatTemplate }: Encoder, raw: boolean): void {
  if (raw || chatTemplate !== null) return;
  process.stderr.write('This model takes no chat messages, so the prompt is continued as text (as --raw).\n');
}

/** The prompt as token ids: a chat of one message where the model has a template, plain text otherwise. */
export async function encodePrompt(
  model: Encoder,
  { prompt, system }: Prompt,
  { raw, signal }: EncodePromptOptions,
): Promise<Int32Array> {
  if (raw || model.chatTemplate === null) {
    if (system !== undefined) {
      throw new UsageError(
        `A system message needs a chat template${raw ? ', and --raw goes without' : '; this model has none'}.`,
      );
    }
    return model.tokenizer.encode(prompt, { addBos: 'auto', signal });
  }
  const systemMessages = system === undefined ? [] : [{ role: 'system', content: system }];
  return model.renderChat([...systemMessages, { role: 'user', content: prompt }], { signal });
}
