import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { InvalidArgumentError } from '@hearth/core';
import { expandHome } from './cache-directory.ts';
import { type CatalogueEntry, findInCatalogue } from './catalogue.ts';
import { ModelNotFoundError } from './errors.ts';
import { decodePercent, redactUrl } from './redact.ts';
import type { Settings } from './settings.ts';

/** What a model spec names. */
export type ModelSpec =
  | { type: 'catalogue'; entry: CatalogueEntry }
  | {
      type: 'repository';
      /** `organisation/name`. */
      repository: string;
      /** Branch, tag or commit; undefined when none was given, which means `main`. */
      revision: string | undefined;
      /** Which GGUF file; undefined when none was given. */
      selector: string | undefined;
    }
  | {
      type: 'local';
      /** Absolute path; it need not exist. */
      path: string;
    };

/** `ORG/NAME[@REVISION][:SELECTOR]`; names as the hub allows them. */
const REPOSITORY = /^([\w.-]+\/[\w.-]+)(?:@([^:\s]+))?(?::(.+))?$/;

/** A page of a repository, copied from a browser: `ORG/NAME/blob/REVISION/FILE?download=true`. */
const HUB_PAGE = /^([^/]+\/[^/]+)\/(?:tree|blob|resolve)\/([^/?#]+)(?:\/([^?#]+))?/;

const HUB_PREFIX = /^(?:hf:(?:\/\/)?|https?:\/\/(?:www\.)?(?:huggingface\.co|hf\.co)\/)/i;

/**
 * Reads a model spec. In this order it is:
 *
 * 1. a path, if it is spelled like one: absolute, `./x`, `../x`, `.`, `~/x`, `file:` URL, `C:\x`;
 * 2. a repository, if it begins with `hf:` or the hub's web address;
 * 3. a catalogue name or alias;
 * 4. a path, if such a file or directory exists below the working directory;
 * 5. a Hugging Face repository `ORG/NAME[@REVISION][:SELECTOR]`.
 *
 * @throws InvalidArgumentError for an empty or unreadable spec, ModelNotFoundError when it is none of these
 */
export function parseModelSpec(spec: string, settings: Settings): ModelSpec {
  if (typeof spec !== 'string' || spec.trim() === '' || spec.includes('\0')) {
    throw new InvalidArgumentError(
      'A model is named by a catalogue name, a repository id or a path; an empty name is none of them.',
    );
  }
  const { workingDirectory, catalogue, surroundings } = settings;
  const asPath = () =>
    ({ type: 'local', path: path.resolve(workingDirectory, expandHome(spec, surroundings)) }) as const;

  if (/^file:/i.test(spec)) return { type: 'local', path: pathOfFileUrl(spec) };
  if (isSpelledAsPath(spec)) return asPath();
  if (HUB_PREFIX.test(spec)) return parseRepository(withoutPage(spec.replace(HUB_PREFIX, '')), spec);
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(spec)) {
    throw new InvalidArgumentError(
      `'${redactUrl(spec)}' is a web address; models come from a Hugging Face repository (ORG/NAME). Download the file yourself and pass its path.`,
    );
  }
  const entry = findInCatalogue(spec, catalogue);
  if (entry) return { type: 'catalogue', entry };
  const local = asPath();
  if (existsSync(local.path)) return local;
  // Not there, but meant as a file: the error that follows says where was looked.
  if (/\.(gguf|safetensors)$/i.test(spec) && !/[@:]/.test(spec)) return local;
  if (REPOSITORY.test(spec)) return parseRepository(spec, spec);
  if (/[/\\]/.test(spec)) return local;
  throw unknownName(spec, settings);
}

function withoutPage(text: string): string {
  const page = HUB_PAGE.exec(text);
  if (!page) return text.replace(/\/+$/, '');
  const [, repository, revision, file] = page;
  return `${repository}@${revision}${file ? `:${decodePercent(file)}` : ''}`;
}

function isSpelledAsPath(spec: string): boolean {
  return (
    path.isAbsolute(spec) ||
    path.win32.isAbsolute(spec) ||
    /^[a-z]:[\\/]/i.test(spec) ||
    /^(\.{1,2}|~)([\\/]|$)/.test(spec)
  );
}

function pathOfFileUrl(spec: string): string {
  try {
    return fileURLToPath(spec);
  } catch (error) {
    throw new InvalidArgumentError(
      `'${spec}' is no file URL of this machine. It must look like file:///absolute/path, with blanks as %20.`,
      { cause: error },
    );
  }
}

function parseRepository(text: string, spec: string): ModelSpec {
  const match = REPOSITORY.exec(text);
  const [, repository = '', revision, selector] = match ?? [];
  if (!match || /\.\.|--/.test(repository) || revision?.includes('..')) {
    throw new InvalidArgumentError(
      `'${spec}' is no Hugging Face repository. It must look like ORG/NAME, ORG/NAME@REVISION or ORG/NAME:FILE-OR-FORMAT.`,
    );
  }
  return { type: 'repository', repository, revision, selector };
}

function unknownName(spec: string, { catalogue, workingDirectory }: Settings): ModelNotFoundError {
  const known = catalogue.map(({ name }) => name).join(', ');
  return new ModelNotFoundError(
    `There is no model '${spec}': it is not in the catalogue (${known}), and ${path.join(workingDirectory, spec)} does not exist. ` +
      'Name one of these, a Hugging Face repository (ORG/NAME), or a path.',
    { details: { spec, catalogue: catalogue.map(({ name }) => name) } },
  );
}
