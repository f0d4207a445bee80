import { describe, expect, it } from 'vitest';
import type { ChatMessage } from './chat-message.ts';
import { emptyChat, reduceChat, titleOf } from './chat-state.ts';
import { readSampling } from './sampling.ts';

const user = (content: string): ChatMessage => ({ role: 'user', content });
const assistant = (content: string): ChatMessage => ({ role: 'assistant', content });
const chat = { ...emptyChat('k'), messages: [user('a'), assistant('b'), user('c'), assistant('d')] };

describe('reduceChat', () => {
  it('puts a question and the beginning of its answer at the end', () => {
    const asked = reduceChat(chat, { type: 'asked', index: 4, question: 'e' });
    expect(asked.messages.slice(4)).toEqual([user('e'), assistant('')]);
    expect(asked.isAnswering).toBe(true);
  });

  it('lets everything from an edited question on go', () => {
    const asked = reduceChat(chat, { type: 'asked', index: 2, question: 'x' });
    expect(asked.messages).toEqual([user('a'), assistant('b'), user('x'), assistant('')]);
  });

  it('lets an answer that is tried again go, and not its question', () => {
    const asked = reduceChat(chat, { type: 'asked', index: 1, question: undefined });
    expect(asked.messages).toEqual([user('a'), assistant('')]);
  });

  it('lets the answer grow, and ends it', () => {
    let state = reduceChat(chat, { type: 'asked', index: 4, question: 'e' });
    state = reduceChat(state, { type: 'grew', content: '', reasoning: 'hm' });
    state = reduceChat(state, { type: 'grew', content: 'yes', reasoning: '' });
    state = reduceChat(state, { type: 'grew', content: '!', reasoning: '' });
    expect(state.messages.at(-1)).toEqual({ role: 'assistant', content: 'yes!', reasoning: 'hm' });
    state = reduceChat(state, { type: 'ended', ending: 'stopped' });
    expect(state.messages.at(-1)).toMatchObject({ content: 'yes!', ending: 'stopped' });
    expect(state.isAnswering).toBe(false);
  });

  it('calls the conversation after its first question, unless it has a name', () => {
    const first = reduceChat(emptyChat('k'), { type: 'asked', index: 0, question: '\n Why? \nBecause.' });
    expect(first.title).toBe('Why?');
    expect(reduceChat(first, { type: 'asked', index: 2, question: 'More?' }).title).toBe('Why?');
  });

  it('opens another one with nothing left of the one before', () => {
    const failed = reduceChat(chat, { type: 'failed', problem: 'x' });
    const opened = reduceChat(failed, { type: 'opened', chat: { key: 'n', id: 'conv_1', messages: [], title: 't' } });
    expect(opened).toMatchObject({ key: 'n', id: 'conv_1', messages: [], title: 't', problem: undefined });
  });
});

describe('titleOf', () => {
  it('cuts between words', () => {
    expect(titleOf(`${'word '.repeat(20)}`)).toBe(`${'word '.repeat(11)}word…`);
    expect(titleOf('x'.repeat(100))).toBe(`${'x'.repeat(30)}…`);
  });
});

describe('readSampling', () => {
  it('takes what makes sense of what was stored', () => {
    expect(readSampling({ temperature: 0, top_p: 2, top_k: '4', evil: 1, seed: 7 })).toEqual({
      temperature: 0,
      seed: 7,
    });
    expect(readSampling(null)).toEqual({});
    expect(readSampling('x')).toEqual({});
  });
});
