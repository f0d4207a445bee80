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

  it('takes both templates of a GGUF file', () => {
    const ggufNamedTemplates = { tool_use: 'TOOL', rag: 'RAG' };
    const origin = 'tokenizer.chat_template';
    expect(chooseChatTemplate({ ggufTemplate: 'DEF', ggufNamedTemplates })).toEqual({
      origin,
      template: 'DEF',
      toolTemplate: 'TOOL',
    });
    expect(chooseChatTemplate({ ggufNamedTemplates: { ...ggufNamedTemplates, default: 'DEF' } }).template).toBe('DEF');
    expect(chooseChatTemplate({ ggufNamedTemplates })).toEqual({ origin, template: undefined, toolTemplate: 'TOOL' });
    expect(() => chooseChatTemplate({ ggufNamedTemplates: { rag: 'RAG' } })).toThrow('no chat template');
  });

  it('passes over places that hold nothing', () => {
    expect(chooseChatTemplate({ jinjaFile: ' \n', tokenizerConfig: { chat_template: 'CONFIG' } }).template).toBe(
      'CONFIG',
    );
    expect(chooseChatTemplate({ tokenizerConfig: { chat_template: '' }, ggufTemplate: 'GGUF' }).template).toBe('GGUF');
    expect(() =>
      chooseChatTemplate({ jinjaFile: '', tokenizerConfig: { chat_template: '' }, ggufTemplate: '\n' }),
    ).toThrow('no chat template');
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
