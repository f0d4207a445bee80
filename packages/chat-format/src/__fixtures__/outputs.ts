import fc from 'fast-check';
import type { OutputEvent } from '../output/output-events.ts';
import { createOutputParser, type OutputParserOptions } from '../output/output-parser.ts';

/** Ids that count: `call_0`, `call_1`, ... */
export function countingIds(): () => string {
  let next = 0;
  return () => `call_${next++}`;
}

/** Events of the pieces, with neighbours of one kind joined, as a reader would see them in the end. */
export function parsePieces(pieces: readonly string[], options: OutputParserOptions): OutputEvent[] {
  const parser = createOutputParser({ createCallId: countingIds(), ...options });
  return joinEvents([...pieces.flatMap((piece) => parser.push(piece)), ...parser.finish()]);
}

export function parse(text: string, options: OutputParserOptions): OutputEvent[] {
  return parsePieces([text], options);
}

function joinEvents(events: readonly OutputEvent[]): OutputEvent[] {
  const joined: OutputEvent[] = [];
  for (const event of events) {
    const last = joined.at(-1);
    const isDelta = event.type === 'content' || event.type === 'reasoning' || event.type === 'toolCallArguments';
    if (isDelta && last?.type === event.type) last.text += event.text;
    else joined.push({ ...event });
  }
  return joined;
}

/** Pieces that join to the text, cut at the given places in any order. */
export function cut(text: string, places: readonly number[]): string[] {
  const sorted = [0, ...places.map((place) => place % (text.length + 1)), text.length].sort((a, b) => a - b);
  return sorted.slice(1).map((end, index) => text.slice(sorted[index], end));
}

const markers = ['<tool_call>', '</tool_call>', '<|python_tag|>', '<think>', '</think>'];

/** Strings with everything that could be mistaken for an end or a beginning. */
export const trickyString = fc
  .array(
    fc.oneof(fc.constantFrom(...markers, '"', '\\', '{', '}', '[', ']', '\n', ';', '😀', '<', '\\"}'), fc.string()),
    {
      maxLength: 6,
    },
  )
  .map((parts) => parts.join(''));

/** Arguments of calls: any nest of objects and lists, with tricky keys and strings. */
export const trickyArguments = fc.dictionary(
  trickyString,
  fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      trickyString,
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(trickyString, tie('value'), { maxKeys: 4 }),
    ),
  })).value,
  { maxKeys: 4 },
);

const begunCalls = ['', '<tool_call>', '<tool_call>\n', '<think>\n</think>\n', '<|python_tag|>'].map(
  (marker) => `${marker}{"name": "add", "arguments": `,
);

/** Texts made of the parts of calls in any order, right and wrong ones. */
export const callSoup = fc
  .array(
    fc.oneof(
      fc.constantFrom(...markers, ...begunCalls.map((call) => `${call}{"a": `)),
      fc.constantFrom(...begunCalls.map((call) => `${call}{"a": "}"}}`)),
      fc.constantFrom(
        ...'{}":,[];<\\-1 \n'.split(''),
        '</',
        '<tool',
        'think>',
        '<|',
        'null',
        '{"name": "other"',
        'Text. ',
      ),
      fc.constantFrom('{"b": [1, "x"]}', '{}}', '"}}', ', "type": "function"', '{"arguments": "{}", "name": "add"}'),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''));
