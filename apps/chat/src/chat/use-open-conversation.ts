import { useEffect } from 'react';
import { messageOf } from '../server/server-error.ts';
import type { ChatController } from './chat-controller.ts';
import type { Conversations } from './use-conversations.ts';

/** The part of the address after `#` says which conversation is open, so that it is there again after a reload. */
export function useOpenConversation(controller: ChatController, { stored, refresh }: Conversations): void {
  useEffect(() => {
    if (!stored) return;
    let opening = new AbortController();
    let isOpening = false;
    controller.onStored = (id) => {
      // On the way to another one, what is stored last of this one must not take its place in the history.
      const isHere = controller.state.id === id && !isOpening;
      if (isHere && idInAddress() !== id) history.replaceState(null, '', `#${id}`);
      refresh();
    };
    const open = () => {
      const id = idInAddress();
      // Whoever goes from one to the next wants the last of them, whichever comes first.
      opening.abort();
      isOpening = false;
      if (id === (controller.state.id ?? '')) return;
      opening = new AbortController();
      const { signal } = opening;
      isOpening = id !== '';
      if (!isOpening) return controller.begin(controller.state);
      controller
        .open(id, signal)
        .catch((error) => {
          if (!signal.aborted) controller.report(`The conversation could not be opened: ${messageOf(error)}`);
        })
        .finally(() => {
          if (!signal.aborted) isOpening = false;
        });
    };
    open();
    addEventListener('hashchange', open);
    return () => {
      opening.abort();
      removeEventListener('hashchange', open);
    };
  }, [controller, stored, refresh]);
}

function idInAddress(): string {
  const text = location.hash.slice(1);
  try {
    return decodeURIComponent(text);
  } catch {
    // Somebody has typed a percent sign.
    return text;
  }
}
