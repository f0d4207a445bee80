import { useCallback, useEffect, useMemo, useState } from 'react';
import { type ConversationSummary, StoredConversations } from '../server/conversations.ts';
import type { ServerClient } from '../server/server-client.ts';
import { messageOf, ServerError } from '../server/server-error.ts';

export interface Conversations {
  /** undefined where the server keeps none. */
  readonly stored: StoredConversations | undefined;
  readonly list: readonly ConversationSummary[];
  readonly hasMore: boolean;
  readonly problem: string | undefined;
  readonly search: string;
  setSearch(text: string): void;
  refresh(): void;
  loadMore(): void;
  remove(id: string): Promise<void>;
}

/** The list of conversations that the server keeps. */
export function useConversations(client: ServerClient): Conversations {
  const all = useMemo(() => new StoredConversations(client), [client]);
  const [isKept, setIsKept] = useState(true);
  const [list, setList] = useState<readonly ConversationSummary[]>([]);
  const [next, setNext] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const [search, setSearch] = useState('');
  const [round, setRound] = useState(0);
  const refresh = useCallback(() => setRound((round) => round + 1), []);

  useEffect(() => {
    if (!isKept) return;
    const controller = new AbortController();
    all.list({ search, signal: controller.signal }).then(
      (page) => {
        if (controller.signal.aborted) return;
        setList(page.conversations);
        setNext(page.next);
        setProblem(undefined);
      },
      (error) => {
        if (controller.signal.aborted) return;
        if (error instanceof ServerError && error.status === 404) setIsKept(false);
        else setProblem(messageOf(error));
      },
    );
    return () => controller.abort();
  }, [all, isKept, search, round]);

  const loadMore = async () => {
    try {
      const page = await all.list({ search, ...(next !== undefined && { before: next }) });
      setList([...list, ...page.conversations]);
      setNext(page.next);
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  const remove = async (id: string) => {
    try {
      await all.delete(id);
    } catch (error) {
      setProblem(messageOf(error));
    }
    refresh();
  };
  return {
    stored: isKept ? all : undefined,
    list,
    hasMore: next !== undefined,
    problem,
    search,
    setSearch,
    refresh,
    loadMore: () => void loadMore(),
    remove,
  };
}
