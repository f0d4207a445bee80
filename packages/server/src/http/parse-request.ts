import { plainJson } from '@hearth/chat-format';
import type { z } from 'zod';
import { ApiError } from './api-error.ts';
import { type BodyLimits, readJsonBody } from './read-body.ts';
import type { RequestBody } from './route.ts';

/** Enough to mend a request, short enough to read. */
const mostIssues = 8;

/**
 * Reads and checks the body of a request.
 * @throws as `readJsonBody`, and ApiError 400 naming every field that is wrong
 */
export async function parseRequest<Body extends z.ZodType>(
  request: Request,
  schema: Body,
  limits: BodyLimits,
  signal: AbortSignal,
): Promise<RequestBody<z.output<Body>>> {
  const json = await readJsonBody(request, limits, signal);
  const result = schema.safeParse(plainJson(json));
  if (result.success) return { fields: result.data, json };
  throw invalidFields(result.error);
}

/**
 * Checks what stands behind the question mark. Of a name that comes twice, the last counts.
 * @throws ApiError 400 naming every field that is wrong
 */
export function parseQuery<Query extends z.ZodObject>(request: Request, schema: Query): z.output<Query> {
  const result = schema.safeParse(Object.fromEntries(new URL(request.url).searchParams));
  if (result.success) return result.data;
  throw invalidFields(result.error);
}

function invalidFields(error: z.ZodError): ApiError {
  const all = error.issues.flatMap(issuesOfEntries);
  const issues = all.slice(0, mostIssues);
  const numMore = all.length - issues.length;
  const texts = issues.map(({ path, message }) => (path.length > 0 ? `${fieldName(path)}: ${message}` : message));
  if (numMore > 0) texts.push(`and ${numMore} more`);
  return new ApiError(texts.join('; '), {
    status: 400,
    param: fieldName(issues[0]!.path) || undefined,
    code: 'invalid_value',
  });
}

/** Of something that is one thing or a list, the wrong entries of the list say more than that it is neither. */
function issuesOfEntries(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const ofEntries = issue.errors.find((issues) => issues.every(({ path }) => typeof path[0] === 'number'));
  if (!ofEntries?.length) return [issue];
  return ofEntries
    .map((entry) => ({ ...entry, path: [...issue.path, ...entry.path] }) as z.core.$ZodIssue)
    .flatMap(issuesOfEntries);
}

/** `messages[2].content` */
export function fieldName(path: readonly PropertyKey[]): string {
  return path.reduce<string>((name, key) => {
    if (typeof key === 'number') return `${name}[${key}]`;
    return name === '' ? String(key) : `${name}.${String(key)}`;
  }, '');
}
