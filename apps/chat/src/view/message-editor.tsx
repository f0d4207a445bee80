import { useEffect, useRef, useState } from 'react';
import { isSendKey } from './is-send-key.ts';
import { useGrowingArea } from './use-growing-area.ts';

export interface MessageEditorProps {
  readonly text: string;
  readonly onSend: (text: string) => void;
  readonly onCancel: () => void;
}

/** A message that is written anew; what came after it will go. */
export function MessageEditor({ text, onSend, onCancel }: MessageEditorProps) {
  const [draft, setDraft] = useState(text);
  const area = useRef<HTMLTextAreaElement>(null);
  useGrowingArea(area, draft);
  useEffect(() => {
    const element = area.current!;
    element.focus();
    element.setSelectionRange(element.value.length, element.value.length);
  }, []);
  const send = () => {
    if (draft.trim() !== '') onSend(draft);
  };
  return (
    <div className="message-editor">
      <textarea
        ref={area}
        aria-label="Edit the message"
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape' && !event.nativeEvent.isComposing) {
            // An answer that is being written meanwhile goes on.
            event.nativeEvent.stopImmediatePropagation();
            onCancel();
          }
          if (!isSendKey(event.nativeEvent)) return;
          event.preventDefault();
          send();
        }}
      />
      <div className="editor-buttons">
        <button type="button" className="quiet-button" onClick={onCancel}>
          Cancel
        </button>
        <button type="button" className="button" disabled={draft.trim() === ''} onClick={send}>
          Send
        </button>
      </div>
    </div>
  );
}
