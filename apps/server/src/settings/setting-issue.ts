import type { z } from 'zod';
import { modelSettings } from './model-settings.ts';

const nouns: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/**
 * What is wrong with a setting, as the rest of a sentence after its name: what it must be and what came. Undefined leaves it
 * to the schema.
 */
export function settingIssue(issue: z.core.$ZodRawIssue): string | undefined {
  const got = `, got ${shown(issue.input)}`;
  switch (issue.code) {
    case 'unrecognized_keys':
      return unknownKeys(issue.keys, (issue.path?.length ?? 0) > 0);
    case 'invalid_type':
      return issue.input === undefined ? 'must be there' : `must be ${nouns[issue.expected] ?? issue.expected}${got}`;
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}${got}`;
    case 'too_small':
      return issue.origin === 'string'
        ? 'must not be empty'
        : `must be ${issue.inclusive ? 'at least' : 'above'} ${issue.minimum}${got}`;
    case 'too_big':
      return issue.origin === 'string'
        ? `must have at most ${issue.maximum} characters`
        : `must be at most ${issue.maximum}${got}`;
    default:
      return undefined;
  }
}

function unknownKeys(keys: readonly string[], isOfModel: boolean): string {
  const names = keys.map((key) => JSON.stringify(key)).join(' and ');
  const known = Object.keys(modelSettings.shape).join(', ');
  return isOfModel
    ? `${names} is no setting of one model; those are ${known}`
    : `${names} is no setting; --help lists those that are, to be written in camel case`;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
