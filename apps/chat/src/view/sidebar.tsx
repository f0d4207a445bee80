import { useEffect, useState } from 'react';
import type { Conversations } from '../chat/use-conversations.ts';
import type { ConversationSummary } from '../server/conversations.ts';
import { Icon, IconButton } from './icons.tsx';

export interface SidebarProps {
  readonly conversations: Conversations;
  readonly openId: string | undefined;
  /** On narrow screens it lies over the page. */
  readonly isOpen: boolean;
  readonly onBegin: () => void;
  readonly onClose: () => void;
  readonly onDeleted: (id: string) => void;
}

export function Sidebar({ conversations, openId, isOpen, onBegin, onClose, onDeleted }: SidebarProps) {
  const { stored, list, hasMore, problem, search, setSearch, loadMore, remove } = conversations;
  useEffect(() => {
    if (!isOpen) return;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.isComposing) return;
      // It closes what lies over the page; the answer beneath goes on.
      event.stopImmediatePropagation();
      onClose();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [isOpen, onClose]);
  return (
    <>
      <nav className="sidebar" aria-label="Conversations">
        <button type="button" className="button new-button" onClick={onBegin}>
          <Icon name="plus" /> New conversation
        </button>
        {stored && (
          <input
            type="search"
            aria-label="Search conversations"
            placeholder="Search"
            maxLength={200}
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
        )}
        {problem && <p className="problem">{problem}</p>}
        <ul>
          {list.map((conversation) => (
            <ConversationItem
              key={conversation.id}
              conversation={conversation}
              isOpen={conversation.id === openId}
              onOpen={onClose}
              onRemove={() => void remove(conversation.id).then(() => onDeleted(conversation.id))}
            />
          ))}
        </ul>
        {hasMore && (
          <button type="button" className="quiet-button" onClick={loadMore}>
            Older ones
          </button>
        )}
        {!stored && <p className="hint">This server keeps no conversations: they are gone when the page is.</p>}
      </nav>
      {isOpen && <button type="button" className="backdrop" aria-label="Close the conversations" onClick={onClose} />}
    </>
  );
}

interface ConversationItemProps {
  readonly conversation: ConversationSummary;
  readonly isOpen: boolean;
  readonly onOpen: () => void;
  readonly onRemove: () => void;
}

/** To delete takes two clicks: the second where the first has asked. */
function ConversationItem({ conversation: { id, title }, isOpen, onOpen, onRemove }: ConversationItemProps) {
  const [isAsking, setIsAsking] = useState(false);
  const shown = title || 'Without a title';
  return (
    <li className={isOpen ? 'open' : ''}>
      <a href={`#${encodeURIComponent(id)}`} aria-current={isOpen ? 'page' : undefined} onClick={onOpen}>
        {shown}
      </a>
      {isAsking ? (
        <button type="button" className="danger-button" onClick={onRemove} onBlur={() => setIsAsking(false)}>
          Delete
        </button>
      ) : (
        <IconButton icon="remove" label={`Delete “${shown}”`} onClick={() => setIsAsking(true)} />
      )}
    </li>
  );
}
