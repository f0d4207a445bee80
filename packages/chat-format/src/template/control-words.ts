import type { LiteralFinder } from './literal-finder.ts';

/** Part of a rendered chat: text, or the literal of a special token that the template itself wrote. */
export type Segment = { text: string } | { control: string };

/**
 * Characters that never stand in text that is meant for exchange (Unicode noncharacters). The first that is in none of
 * the inputs marks control words in texts of others.
 */
const candidates = Array.from({ length: 32 }, (_, index) => String.fromCharCode(0xfdd0 + index));

/** A character that occurs in none of the texts, or `undefined` if they hold all candidates. */
export function chooseSentinel(texts: readonly string[]): string | undefined {
  return candidates.find((candidate) => !texts.some((text) => text.includes(candidate)));
}

/**
 * Puts the sentinel inside every literal of a special token, after its first character, so that it is none any more. The
 * same is done to a beginning of a literal at the very end of the text: the template could put another text behind it
 * that completes it.
 */
export function protect(text: string, finder: LiteralFinder, sentinel: string): string {
  const mayBeginAt = (start: number) => start > text.length - finder.maxLength && finder.mayBeginAt(text, start);
  return mark(text, (start) => mayBeginAt(start) || finder.endAt(text, start) >= 0, finder, sentinel);
}

/** Puts the sentinel inside every whole literal, as `protect` does, and nowhere else. */
export function disarm(text: string, finder: LiteralFinder, sentinel: string): string {
  return mark(text, (start) => finder.endAt(text, start) >= 0, finder, sentinel);
}

function mark(text: string, isMarked: (start: number) => boolean, finder: LiteralFinder, sentinel: string): string {
  if (finder.maxLength === 0) return text;
  let result = '';
  let end = 0;
  for (let start = 0; start < text.length; start++) {
    if (!isMarked(start)) continue;
    result += text.slice(end, start + 1) + sentinel;
    end = start + 1;
  }
  return result + text.slice(end);
}

/** Splits a rendered text at the literals that are whole, and takes the sentinels out of what remains. */
export function toSegments(rendered: string, finder: LiteralFinder, sentinel: string): Segment[] {
  const segments: Segment[] = [];
  let end = 0;
  const addText = (until: number) => {
    if (until > end) segments.push({ text: rendered.slice(end, until).replaceAll(sentinel, '') });
  };
  for (let start = 0; start < rendered.length; ) {
    const literalEnd = finder.endAt(rendered, start);
    if (literalEnd < 0) {
      start++;
      continue;
    }
    addText(start);
    segments.push({ control: rendered.slice(start, literalEnd) });
    end = literalEnd;
    start = literalEnd;
  }
  addText(rendered.length);
  return segments.filter((segment) => 'control' in segment || segment.text !== '');
}
