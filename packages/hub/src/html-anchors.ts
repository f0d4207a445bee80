/** The anchors of a page. */
export interface Anchor {
  /** As written, entities decoded; not resolved. */
  href: string;
  /** Text up to the next tag, trimmed. */
  text: string;
}

/** Longer attribute lists than this do not occur on index pages. */
const MAX_ATTRIBUTES = 8192;

/**
 * Reads anchors and the base address out of HTML. Package index pages are a flat list of anchors (PEP 503), so this is no
 * HTML parser; it visits every character once, so that a hostile page cannot make it slow.
 */
export function readAnchors(html: string): { base: string | undefined; anchors: Anchor[] } {
  const anchors: Anchor[] = [];
  let base: string | undefined;
  let position = 0;
  for (;;) {
    const open = html.indexOf('<', position);
    if (open < 0) break;
    position = open + 1;
    const name = /^(a|base)\s/i.exec(html.slice(position, position + 5))?.[1]?.toLowerCase();
    if (!name) continue;
    const start = position + name.length;
    const end = endOfTag(html, start);
    if (end < 0) break;
    position = end + 1;
    const href = attributeOf(html.slice(start, Math.min(end, start + MAX_ATTRIBUTES)), 'href');
    if (href === undefined) continue;
    if (name === 'base') base ??= href;
    else anchors.push({ href, text: textFrom(html, position) });
  }
  return { base, anchors };
}

/** Index of the `>` that ends a tag; quoted attribute values may hold others. */
function endOfTag(html: string, start: number): number {
  let quote = '';
  for (let index = start; index < html.length; index++) {
    const character = html[index]!;
    if (quote) {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'") {
      quote = character;
    } else if (character === '>') {
      return index;
    }
  }
  return -1;
}

function textFrom(html: string, start: number): string {
  const end = html.indexOf('<', start);
  return decodeEntities(html.slice(start, end < 0 ? start : end)).trim();
}

function attributeOf(attributes: string, name: string): string | undefined {
  const match = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(attributes);
  const value = match?.[1] ?? match?.[2] ?? match?.[3];
  return value === undefined ? undefined : decodeEntities(value);
}

/** The entities that index generators use; numeric ones for the rest. */
function decodeEntities(text: string): string {
  const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z]{1,8}));/gi, (whole, hex, decimal, name) => {
    if (name) return named[name.toLowerCase()] ?? whole;
    const code = hex ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
