import type { AnswerStats, ChatMessage } from './chat-message.ts';
import type { Sampling } from './sampling.ts';
import { defaultSampling } from './sampling.ts';

/** What can be set about a conversation. */
export interface ChatFields {
  readonly title: string;
  /** undefined: the first of the server. */
  readonly model: string | undefined;
  readonly systemPrompt: string;
  readonly sampling: Sampling;
}

export interface ChatState extends ChatFields {
  /** Names the conversation while the page is open. */
  readonly key: string;
  /** Where it is stored; undefined before that. */
  readonly id: string | undefined;
  readonly messages: readonly ChatMessage[];
  /** The last message is being written. */
  readonly isAnswering: boolean;
  /** Something that concerns no message: it could not be stored, for one. */
  readonly problem: string | undefined;
}

export type ChatAction =
  | { readonly type: 'opened'; readonly chat: Partial<ChatFields> & Pick<ChatState, 'key' | 'id' | 'messages'> }
  | { readonly type: 'changed'; readonly fields: Partial<ChatFields> }
  | { readonly type: 'stored'; readonly id: string }
  /** From `index` on, everything gives way to the question, if there is one, and to the answer. */
  | { readonly type: 'asked'; readonly index: number; readonly question: string | undefined }
  | { readonly type: 'grew'; readonly content: string; readonly reasoning: string }
  | {
      readonly type: 'ended';
      readonly stats?: AnswerStats | undefined;
      readonly ending?: ChatMessage['ending'] | undefined;
      readonly problem?: string | undefined;
    }
  | { readonly type: 'failed'; readonly problem: string | undefined };

export function emptyChat(key: string, fields: Partial<ChatFields> = {}): ChatState {
  return {
    title: '',
    model: undefined,
    systemPrompt: '',
    sampling: defaultSampling,
    ...fields,
    key,
    id: undefined,
    messages: [],
    isAnswering: false,
    problem: undefined,
  };
}

export function reduceChat(state: ChatState, action: ChatAction): ChatState {
  switch (action.type) {
    case 'opened':
      return { ...emptyChat(action.chat.key), ...action.chat };
    case 'changed':
      return { ...state, ...action.fields };
    case 'stored':
      return { ...state, id: action.id };
    case 'asked': {
      const before = state.messages.slice(0, action.index);
      const question: ChatMessage[] = action.question === undefined ? [] : [{ role: 'user', content: action.question }];
      const title = state.title || titleOf(action.question ?? '');
      const messages = [...before, ...question, { role: 'assistant' as const, content: '' }];
      return { ...state, title, messages, isAnswering: true, problem: undefined };
    }
    case 'grew':
      return onAnswer(state, (answer) => ({
        ...answer,
        content: answer.content + action.content,
        ...((answer.reasoning || action.reasoning) && { reasoning: (answer.reasoning ?? '') + action.reasoning }),
      }));
    case 'ended': {
      const { stats, ending, problem } = action;
      const ended = onAnswer(state, (answer) => ({
        ...answer,
        ...(stats && { stats }),
        ...(ending && { ending }),
        ...(problem !== undefined && { problem }),
      }));
      return { ...ended, isAnswering: false };
    }
    case 'failed':
      return { ...state, problem: action.problem };
  }
}

function onAnswer(state: ChatState, change: (answer: ChatMessage) => ChatMessage): ChatState {
  return { ...state, messages: state.messages.with(-1, change(state.messages.at(-1)!)) };
}

const mostTitleLength = 60;

/** The first line of the first question, as far as it fits. */
export function titleOf(question: string): string {
  const line = question.trim().split('\n')[0]!.trim();
  if (line.length <= mostTitleLength) return line;
  const cut = line.slice(0, mostTitleLength);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), mostTitleLength / 2)).trimEnd()}…`;
}
