import { badRequest } from '../http/api-error.ts';
import type { RequestContext } from '../http/request-context.ts';

/** @throws ApiError 400 when one request asks for more texts than the server allows */
export function checkCount({ services }: RequestContext, count: number, param = 'n'): void {
  const { maxChoices } = services.options;
  if (count > maxChoices) throw badRequest(param, `${param}: must be at most ${maxChoices} here, but it is ${count}.`);
}
