import type { TextGuard } from '../interpreter/text-guard.ts';
import { disarm } from './control-words.ts';
import type { LiteralFinder } from './literal-finder.ts';

/** Knows the sentinel inside control words of others, so that a template works on their texts as if it were not there. */
export class ControlGuard implements TextGuard {
  readonly #finder: LiteralFinder;
  readonly #sentinel: string;

  constructor(finder: LiteralFinder, sentinel: string) {
    this.#finder = finder;
    this.#sentinel = sentinel;
  }

  plain(text: string): string {
    return text.replaceAll(this.#sentinel, '');
  }

  sought(part: string, text: string): string {
    return text.includes(this.#sentinel) ? disarm(part, this.#finder, this.#sentinel) : part;
  }

  characters(text: string): string[] {
    const characters: string[] = [];
    for (const character of text) {
      if (character === this.#sentinel && characters.length > 0) characters.push(characters.pop() + character);
      else characters.push(character);
    }
    return characters;
  }

  remade(text: string, parts: readonly string[]): string {
    const before = parts.reduce((sum, part) => sum + this.#finder.count(part), 0);
    return this.#finder.count(text) > before ? disarm(text, this.#finder, this.#sentinel) : text;
  }
}
