import { useEffect } from 'react';
import type { ChatController } from '../chat/chat-controller.ts';

/** Escape stops the answer, wherever the focus is; unless a dialog is open, which it closes. */
export function useStopKey(controller: ChatController): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !event.isComposing && !document.querySelector('dialog[open]')) controller.stop();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [controller]);
}
