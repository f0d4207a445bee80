import { useEffect, useMemo, useState } from 'react';
import type { ServerClient } from '../server/server-client.ts';
import type { ChatController } from './chat-controller.ts';
import { sentMessages } from './chat-message.ts';
import { DraftReader, type Reading } from './draft-reader.ts';

/** Has the server read the message that is being typed. */
export interface DraftUse {
  readonly reading: Reading;
  typed(text: string): void;
  /** The text is in the hands of an input method, and not to be read before that is done with it. */
  held(): void;
  /** The message goes off; the answer takes over what was read. */
  sent(): void;
  /** Loads a model and has it read what is there already. */
  warm(model: string): void;
}

export function useDraft(client: ServerClient, controller: ChatController, model: string | undefined): DraftUse {
  const [reading, setReading] = useState<Reading>({ state: 'idle' });
  const reader = useMemo(() => new DraftReader(client, setReading), [client]);
  useEffect(() => () => reader.cancel(), [reader]);
  const make = (draft: string, ofModel = model) => {
    const { key, systemPrompt, messages } = controller.state;
    return { model: ofModel, conversation: key, messages: sentMessages(systemPrompt, messages), draft };
  };
  return {
    reading,
    typed: (text) => {
      // While an answer is written, what comes before the draft is not there yet.
      if (text.trim() === '' || controller.state.isAnswering) reader.cancel();
      else reader.typed(() => make(text));
    },
    held: () => reader.cancel(),
    sent: () => reader.cancel(),
    warm: (model) => void reader.read(make('', model)),
  };
}
