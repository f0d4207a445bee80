import { memo, useDeferredValue, useState } from 'react';
import type { ChatController } from '../chat/chat-controller.ts';
import type { ChatMessage } from '../chat/chat-message.ts';
import { CopyButton } from './copy-button.tsx';
import { IconButton } from './icons.tsx';
import { Markdown } from './markdown.tsx';
import { MessageEditor } from './message-editor.tsx';
import { StatsLine } from './stats-line.tsx';

export interface MessageViewProps {
  readonly message: ChatMessage;
  readonly index: number;
  readonly isWriting: boolean;
  /** A question that was never answered: the page was closed, for one. */
  readonly isUnanswered: boolean;
  readonly controller: ChatController;
}

/** Those that do not change are not drawn again while an answer grows. */
export const MessageView = memo(function MessageView(props: MessageViewProps) {
  return props.message.role === 'user' ? <Question {...props} /> : <Answer {...props} />;
});

function Question({ message: { content }, index, isUnanswered, controller }: MessageViewProps) {
  const [isEditing, setIsEditing] = useState(false);
  const leave = () => {
    setIsEditing(false);
    document.querySelector<HTMLTextAreaElement>('#message')?.focus();
  };
  if (isEditing) {
    return (
      <li className="question">
        <MessageEditor
          text={content}
          onCancel={leave}
          onSend={(text) => {
            leave();
            void controller.send(text, index);
          }}
        />
      </li>
    );
  }
  return (
    <li className="question">
      <h2 className="for-listeners">You</h2>
      <div className="bubble">{content}</div>
      <div className={`message-tools ${isUnanswered ? 'shown' : ''}`}>
        <CopyButton text={content} />
        <IconButton icon="edit" label="Edit and send again" className="edit" onClick={() => setIsEditing(true)} />
        {isUnanswered && <IconButton icon="retry" label="Answer" onClick={() => void controller.retry(index + 1)} />}
      </div>
    </li>
  );
}

function Answer({ message, index, isWriting, controller }: MessageViewProps) {
  const { content, reasoning, stats, ending, problem } = message;
  // To draw a long answer takes a while: keys that are pressed meanwhile go first.
  const soon = useDeferredValue(content);
  return (
    <li className="answer" aria-busy={isWriting}>
      <h2 className="for-listeners">Answer</h2>
      {reasoning && (
        <details className="reasoning" open={isWriting && content === ''}>
          <summary>Thoughts</summary>
          <p>{reasoning}</p>
        </details>
      )}
      <Markdown text={isWriting ? soon : content} />
      {isWriting && <span className="cursor" aria-hidden="true" />}
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      {!isWriting && (
        <div className="message-tools">
          <CopyButton text={content} />
          <IconButton icon="retry" label="Answer again" onClick={() => void controller.retry(index)} />
          <StatsLine stats={stats} ending={ending} />
        </div>
      )}
    </li>
  );
}
