import { InvalidModelError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { chooseChatTemplate } from './choose-chat-template.ts';

describe('chooseChatTemplate (B31)', () => {
  const named = [
    { name: 'default', template: 'DEF' },
    { name: 'tool_use', template: 'TOOL' },
    { name: 'rag', template: 'RAG' },
  ];

  it('takes the file before the config before the GGUF key', () => {
    const places = { jinjaFile: 'JINJA', tokenizerConfig: { chat_template: 'CONFIG' }, ggufTemplate: 'GGUF' };
    expect(chooseChatTemplate(places)).toEqual({ origin: 'chat_template.jinja', template: 'JINJA' });
    expect(chooseChatTemplate({ ...places, jinjaFile: undefined }).template).toBe('CONFIG');
    expect(chooseChatTemplate({ tokenizerConfig: {}, ggufTemplate: 'GGUF' })).toEqual({
      origin: 'tokenizer.chat_template',
      template: 'GGUF',
    });
    expect(chooseChatTemplate({ tokenizerConfig: { chat_template: null }, ggufTemplate: 'GGUF' }).template).toBe(
      'GGUF',
    );
  });

  it('takes both templates of a named list', () => {
    expect(chooseChatTemplate({ tokenizerConfig: { chat_template: named } })).toMatchObject({
      template: 'DEF',
      toolTemplate: 'TOOL',
    });
    const { template, toolTemplate } = chooseChatTemplate({ tokenizerConfig: { chat_template: named.slice(1) } });
    expect([template, toolTemplate]).toEqual([undefined, 'TOOL']);
  });

  it('says that there is none', () => {
    const none = () => chooseChatTemplate({ tokenizerConfig: { bos_token: '<s>' } });
    expect(none).toThrow(expect.objectContaining({ code: 'no_chat_template', name: 'NoChatTemplateError' }));
  });

  it.each([[7], [[{ name: 'default' }]], [[null]], [[{ name: 'rag', template: 'x' }]], [{ default: 'x' }]])(
    'refuses %j',
    (chat_template) => {
      expect(() => chooseChatTemplate({ tokenizerConfig: { chat_template } })).toThrow(InvalidModelError);
    },
  );
});
