import type { LosslessJson } from '@hearth/chat-format';
import { z } from 'zod';
import { flag } from './scalars.ts';

/** Variables that the request and the model have a place of their own for. */
const reservedNames = ['messages', 'tools', 'add_generation_prompt', 'bos_token', 'eos_token'];

/** What decides how a conversation becomes a prompt, besides its messages and tools. */
export const templateFields = {
  chat_template_kwargs: z
    .record(z.string(), z.unknown(), { error: 'must be an object' })
    .superRefine((variables, context) => {
      for (const name of reservedNames) {
        if (!Object.hasOwn(variables, name)) continue;
        context.addIssue({ code: 'custom', path: [name], message: 'cannot be set here' });
      }
    })
    .meta({ description: 'More variables of the chat template, such as enable_thinking.' })
    .nullish(),
  add_generation_prompt: flag(
    "End the prompt with the beginning of the assistant's turn. Default: true, but not with continue_final_message.",
  ),
  continue_final_message: flag('Go on with the last message instead of answering it. Default: false.'),
};

const templateSchema = z.object(templateFields);
type TemplateFields = z.output<typeof templateSchema>;

/** Adds the issue that a turn either begins or goes on. */
export function checkTemplateFields(fields: TemplateFields, context: z.core.$RefinementCtx): void {
  if (!fields.add_generation_prompt || !fields.continue_final_message) return;
  const message = 'excludes add_generation_prompt: a turn either begins or goes on';
  context.addIssue({ code: 'custom', path: ['continue_final_message'], message });
}

/** How the prompt is rendered. Values go to templates as they came. */
export function templateOptions(fields: TemplateFields, json: Readonly<Record<string, LosslessJson>>) {
  const continueFinalMessage = fields.continue_final_message ?? false;
  return {
    continueFinalMessage,
    addGenerationPrompt: fields.add_generation_prompt ?? !continueFinalMessage,
    variables: (json.chat_template_kwargs ?? {}) as Readonly<Record<string, LosslessJson>>,
  };
}
