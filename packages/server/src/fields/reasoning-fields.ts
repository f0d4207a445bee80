import type { LosslessJson } from '@hearth/chat-format';
import { z } from 'zod';
import { badRequest } from '../http/api-error.ts';
import type { ServedModel } from '../models/served-model.ts';
import { wholeFrom } from './scalars.ts';

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;

export const reasoningEffortField = z
  .enum(efforts, { error: `must be one of ${efforts.join(', ')}` })
  .meta({ description: 'How much the model is to think: none, or in the words of its template.' })
  .nullish();

export const reasoningBudgetField = wholeFrom(0, Number.MAX_SAFE_INTEGER, 'Most tokens of thoughts before the answer.');

export interface ReasoningRequest {
  readonly reasoningEffort: z.output<typeof reasoningEffortField>;
  /** The name of the field that it came in. */
  readonly effortField: string;
  /** Variables of the template that were given as such. */
  readonly variables: Readonly<Record<string, LosslessJson>>;
}

/**
 * The variables by which templates are told how much to think.
 * @throws ApiError 400 for an effort that the model cannot obey, or that another variable contradicts
 */
export function reasoningVariables(
  { model, canReason }: ServedModel,
  { reasoningEffort: effort, effortField: param, variables }: ReasoningRequest,
): Readonly<Record<string, LosslessJson>> {
  if (effort === undefined || effort === null) return {};
  const { template = '', toolTemplate = '' } = model.chatTemplate?.source ?? {};
  const knows = (variable: string) => template.includes(variable) || toolTemplate.includes(variable);
  const isOff = effort === 'none';
  if (!canReason && !isOff)
    throw badRequest(param, `${param}: the model does not reason; leave it out or give "none".`);
  if (canReason && isOff && !knows('enable_thinking') && !knows('reasoning_effort')) {
    throw badRequest(param, `${param}: the chat template of the model has no switch for its thoughts; leave it out.`);
  }
  const own = {
    ...(knows('enable_thinking') && { enable_thinking: !isOff }),
    ...(knows('reasoning_effort') && { reasoning_effort: effort }),
  };
  const [other] = Object.entries(own).find(([name, value]) => (variables[name] ?? value) !== value) ?? [];
  if (other === undefined) return own;
  throw badRequest(param, `${param}: chat_template_kwargs.${other} says something else; give one of them.`);
}
