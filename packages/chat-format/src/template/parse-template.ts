import { InvalidModelError } from '@hearth/core';
import { parse, tokenize } from '@huggingface/jinja';
import type { Statement } from '../interpreter/runtime-values.ts';
import { lineAt, scanTags } from './scan-tags.ts';

type Token = ReturnType<typeof tokenize>[number];

/** Transformers sets both for every chat template. */
const whitespace = { lstrip_blocks: true, trim_blocks: true };
const blockNames = new Set(['if', 'for', 'macro', 'call', 'filter']);

/**
 * Parses a template.
 *
 * @param origin where the template stands, for messages
 * @throws InvalidModelError for a syntax error, with the line of the tag that it is in (the library says none)
 */
export function parseTemplate(source: string, origin: string): Statement {
  let tokens: Token[];
  try {
    tokens = tokenize(source, whitespace);
  } catch (error) {
    throw syntaxError(origin, lineOfLexicalError(source), messageOf(error));
  }
  const watched = watchReads(tokens);
  try {
    return parse(watched.tokens) as unknown as Statement;
  } catch (error) {
    const unclosed = watched.lastRead() >= tokens.length ? unclosedBlock(tokens) : undefined;
    if (unclosed !== undefined) {
      const line = lineOfTag(source, tagsBefore(tokens, unclosed.tokenIndex));
      throw syntaxError(origin, line, `the block "${unclosed.name}" that begins here is not closed`);
    }
    const line = lineOfTag(source, tagsBefore(tokens, Math.min(watched.lastRead(), tokens.length - 1)));
    throw syntaxError(origin, line, messageOf(error));
  }
}

/** Passes tokens on and remembers how far the parser has read, since its errors hold no position. */
function watchReads(tokens: Token[]): { tokens: Token[]; lastRead(): number } {
  let last = 0;
  const proxy = new Proxy(tokens, {
    get(target, key, receiver) {
      if (typeof key === 'string' && /^\d+$/.test(key)) last = Math.max(last, Number(key));
      return Reflect.get(target, key, receiver);
    },
  });
  return { tokens: proxy, lastRead: () => last };
}

/** Index of the tag that a token belongs to. */
function tagsBefore(tokens: readonly Token[], tokenIndex: number): number {
  const openers = tokens
    .slice(0, tokenIndex + 1)
    .filter(({ type }) => type === 'OpenStatement' || type === 'OpenExpression' || type === 'Comment');
  return Math.max(openers.length - 1, 0);
}

function lineOfTag(source: string, tagIndex: number): number {
  return lineAt(source, scanTags(source)[tagIndex]?.start ?? 0);
}

/** The lexer reads from left to right, so the first tag up to which the source cannot be read holds the error. */
function lineOfLexicalError(source: string): number {
  const tags = scanTags(source);
  let low = 0;
  let high = tags.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    try {
      tokenize(source.slice(0, tags[middle]?.end), whitespace);
      low = middle + 1;
    } catch {
      high = middle;
    }
  }
  return lineAt(source, tags[low]?.start ?? 0);
}

/** The innermost block that the end of the template leaves open. */
function unclosedBlock(tokens: readonly Token[]): { name: string; tokenIndex: number } | undefined {
  const open: { name: string; tokenIndex: number }[] = [];
  tokens.forEach((token, index) => {
    if (token.type !== 'OpenStatement') return;
    const name = tokens[index + 1]?.value ?? '';
    if (blockNames.has(name) || (name === 'set' && isBlockSet(tokens, index))) open.push({ name, tokenIndex: index });
    else if (name.startsWith('end')) open.pop();
  });
  return open.at(-1);
}

/** `{% set name %}…{% endset %}` has no `=`. */
function isBlockSet(tokens: readonly Token[], start: number): boolean {
  const end = tokens.findIndex((token, index) => index > start && token.type === 'CloseStatement');
  return end >= 0 && !tokens.slice(start, end).some((token) => token.type === 'Equals');
}

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  // The library runs off the end of its tokens with this one.
  if (message.includes('Cannot read properties of undefined')) return 'the template ends within a tag';
  return message.replace(/\.$/, '');
}

function syntaxError(origin: string, line: number, reason: string): InvalidModelError {
  return new InvalidModelError(`The chat template (${origin}) has a syntax error in line ${line}: ${reason}.`, {
    details: { origin, line },
  });
}
