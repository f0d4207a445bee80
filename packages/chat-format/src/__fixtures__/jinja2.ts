import { readFileSync } from 'node:fs';

/** What the reference makes of a template: a text, or an error with the name of its class. */
interface Result {
  text?: string;
  error?: string;
}

export interface Snippet extends Result {
  source: string;
  /** The reference refuses it and we do not. */
  isLenient: boolean;
}

export interface ChatCase extends Result {
  template: string;
  title: string;
  /** JSON text of messages, tools and variables. */
  request: string;
}

interface Fixture {
  reference: string;
  now: string;
  /** JSON text of the variables of the snippets. */
  data: string;
  snippets: Snippet[];
  chats: ChatCase[];
}

const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8');

/** Written by `tools/make-fixtures.py`. */
export const jinja2: Fixture = JSON.parse(read('jinja2.json'));

/** Source of one of the templates in this folder. */
export const readTemplate = (name: string): string => read(`templates/${name}`);
