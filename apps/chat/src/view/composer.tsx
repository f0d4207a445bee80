import { useEffect, useRef, useState } from 'react';
import type { DraftUse } from '../chat/use-draft.ts';
import { IconButton } from './icons.tsx';
import { isSendKey } from './is-send-key.ts';
import { ReadingLine } from './reading-line.tsx';
import { useGrowingArea } from './use-growing-area.ts';

export interface ComposerProps {
  readonly draft: DraftUse;
  readonly isAnswering: boolean;
  readonly onSend: (text: string) => void;
  readonly onStop: () => void;
}

/** Where messages are written. Enter sends, Shift+Enter breaks the line, arrow up edits the last message. */
export function Composer({ draft, isAnswering, onSend, onStop }: ComposerProps) {
  const [text, setText] = useState('');
  const area = useRef<HTMLTextAreaElement>(null);
  const isComposing = useRef(false);
  useGrowingArea(area, text);
  // What was typed while an answer was being written could not be read before that was there: its end has it read.
  useEffect(() => {
    if (!isAnswering && text.trim() !== '' && !isComposing.current) draft.typed(text);
  }, [isAnswering]);
  const canSend = text.trim() !== '' && !isAnswering;
  const send = () => {
    if (!canSend) return;
    onSend(text);
    setText('');
  };
  return (
    <div className="composer">
      <div className="composer-box">
        <textarea
          id="message"
          ref={area}
          rows={1}
          aria-label="Message"
          aria-describedby="reading"
          placeholder="Write a message"
          value={text}
          // biome-ignore lint/a11y/noAutofocus: the page is for writing messages
          autoFocus
          onChange={({ target: { value } }) => {
            setText(value);
            if (!isComposing.current) draft.typed(value);
          }}
          onCompositionStart={() => {
            isComposing.current = true;
            draft.held();
          }}
          onCompositionEnd={({ currentTarget: { value } }) => {
            isComposing.current = false;
            draft.typed(value);
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowUp' && text === '' && editLastMessage()) event.preventDefault();
            if (!isSendKey(event.nativeEvent)) return;
            event.preventDefault();
            send();
          }}
        />
        {isAnswering ? (
          <IconButton icon="stop" label="Stop" className="main-button" onClick={onStop} />
        ) : (
          <IconButton icon="send" label="Send" className="main-button" isDisabled={!canSend} onClick={send} />
        )}
      </div>
      <ReadingLine reading={draft.reading} />
    </div>
  );
}

/** @returns whether there is one */
function editLastMessage(): boolean {
  const button = [...document.querySelectorAll<HTMLButtonElement>('.question .edit')].at(-1);
  button?.click();
  return button !== undefined;
}
