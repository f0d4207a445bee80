/** A tag of a template source: `{{ … }}`, `{% … %}` or `{# … #}`. */
export interface Tag {
  start: number;
  /** End of the tag, or of the source if it is not closed. */
  end: number;
}

/** The library takes these out before it reads a template. */
const generation = /^\{%-?\s*(?:end)?generation\s*-?%\}$/;

/** Finds the tags of a template in the order in which the library reads them. */
export function scanTags(source: string): Tag[] {
  const tags: Tag[] = [];
  const opener = /\{[{%#]/g;
  for (let match = opener.exec(source); match !== null; match = opener.exec(source)) {
    const end = match[0] === '{#' ? endOfComment(source, match.index) : endOfTag(source, match.index);
    if (!generation.test(source.slice(match.index, end))) tags.push({ start: match.index, end });
    opener.lastIndex = end;
  }
  return tags;
}

function endOfComment(source: string, start: number): number {
  const end = source.indexOf('#}', start + 2);
  return end < 0 ? source.length : end + 2;
}

/** Closers within strings do not count. */
function endOfTag(source: string, start: number): number {
  const closer = source[start + 1] === '{' ? '}}' : '%}';
  for (let index = start + 2; index < source.length; index++) {
    const character = source[index] as string;
    if (character === '"' || character === "'") {
      for (index++; index < source.length && source[index] !== character; index++) {
        if (source[index] === '\\') index++;
      }
    } else if (source.startsWith(closer, index)) {
      return index + 2;
    }
  }
  return source.length;
}

/** Line of a place in a text, from 1. */
export function lineAt(source: string, position: number): number {
  return source.slice(0, position).split('\n').length;
}
