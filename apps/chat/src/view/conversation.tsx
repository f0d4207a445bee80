import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { ChatController } from '../chat/chat-controller.ts';
import type { ChatState } from '../chat/chat-state.ts';
import { MessageView } from './message-view.tsx';

/** Below this distance from the end, in pixels, the view follows the answer. */
const nearTheEnd = 80;

/** The messages. What is new at the end stays in view, unless one has scrolled away from it. */
export function Conversation({ chat, controller }: { readonly chat: ChatState; readonly controller: ChatController }) {
  const { key, messages, isAnswering } = chat;
  const scroller = useRef<HTMLElement>(null);
  const isFollowing = useRef(true);
  // Another conversation begins at its end.
  useEffect(() => {
    isFollowing.current = true;
  }, [key]);
  useLayoutEffect(() => {
    const element = scroller.current!;
    if (isFollowing.current) element.scrollTop = element.scrollHeight;
  }, [messages]);
  return (
    <section
      ref={scroller}
      className="conversation"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
      aria-label="Messages"
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        isFollowing.current = scrollHeight - scrollTop - clientHeight < nearTheEnd;
      }}
    >
      {messages.length === 0 && <Welcome />}
      <ol className="messages">
        {messages.map((message, index) => (
          <MessageView
            key={`${key} ${index}`}
            message={message}
            index={index}
            isWriting={isAnswering && index === messages.length - 1}
            isUnanswered={!isAnswering && index === messages.length - 1 && message.role === 'user'}
            controller={controller}
          />
        ))}
      </ol>
      <Announcement chat={chat} />
    </section>
  );
}

function Welcome() {
  return (
    <div className="welcome">
      <p className="welcome-title">What is on your mind?</p>
      <p>Your message is read while you type, so that the answer can begin at once. All of it stays on this server.</p>
    </div>
  );
}

/** For those who listen: that an answer is being written, and then all of it at once rather than word by word. */
function Announcement({ chat: { messages, isAnswering } }: { readonly chat: ChatState }) {
  const [hasAsked, setHasAsked] = useState(false);
  useEffect(() => {
    if (isAnswering) setHasAsked(true);
  }, [isAnswering]);
  const last = messages.at(-1);
  return (
    <p className="for-listeners" role="status">
      {isAnswering ? 'The answer is being written.' : hasAsked && last?.role === 'assistant' ? last.content : ''}
    </p>
  );
}
