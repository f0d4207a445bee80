import { z } from 'zod';
import { flag } from './scalars.ts';

const nameError = 'must be a name of at most 128 letters, digits and any of _ . : / -';
const toolName = z.string({ error: nameError }).regex(/^[\w.:/-]{1,128}$/, { error: nameError });
const mostTools = 512;

/** What a tool is called and takes. */
export const functionFields = {
  name: toolName,
  description: z.string({ error: 'must be a string' }).nullish(),
  parameters: z
    .record(z.string(), z.unknown(), { error: 'must be a JSON schema of an object' })
    .meta({ description: 'JSON schema of the arguments. Absent: there are none.' })
    .nullish(),
  strict: flag('Hold the arguments to the schema whenever the tool is called. Default: false.'),
};

const tool = z
  .object(
    {
      type: z.literal('function', { error: 'must be "function", the only type of tool here' }),
      function: z.object(functionFields, { error: 'must be an object with a name' }),
    },
    { error: 'must be an object with type and function' },
  )
  .meta({ id: 'Tool' });

export const toolsField = z
  .array(tool, { error: 'must be a list of tools' })
  .max(mostTools, { error: `must have at most ${mostTools} tools` })
  .superRefine((tools, context) => {
    const names = new Set<string>();
    tools.forEach(({ function: { name } }, index) => {
      const path = [index, 'function', 'name'];
      if (names.has(name)) context.addIssue({ code: 'custom', path, message: `is the name of an earlier tool, too` });
      names.add(name);
    });
  })
  .nullish();

export const toolChoiceField = z
  .union(
    [
      z.enum(['none', 'auto', 'required']),
      z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) }),
    ],
    { error: 'must be "none", "auto", "required", or {"type": "function", "function": {"name": ...}}' },
  )
  .meta({ description: 'Whether a tool is called: not, as the model likes, certainly, or this one. Default: auto.' })
  .nullish();

export type ToolFields = z.output<typeof tool>;
export type ToolChoice = 'none' | 'auto' | 'required' | { readonly name: string };

/** The choice that holds: `none` without tools. */
export function toolChoiceOf(
  tools: readonly ToolFields[] | null | undefined,
  choice: z.output<typeof toolChoiceField>,
): ToolChoice {
  if (typeof choice === 'object' && choice !== null) return { name: choice.function.name };
  return choice ?? (tools?.length ? 'auto' : 'none');
}

/** Adds issues for a choice among tools that are not there. */
export function checkToolChoice(
  fields: { readonly tools?: readonly ToolFields[] | null | undefined; readonly tool_choice?: unknown },
  choice: ToolChoice,
  context: z.core.$RefinementCtx,
): void {
  const names = (fields.tools ?? []).map((tool) => tool.function.name);
  const fail = (message: string) => context.addIssue({ code: 'custom', path: ['tool_choice'], message });
  if (choice === 'none' || choice === 'auto') return;
  if (names.length === 0) fail('asks for a call, but there are no tools');
  else if (choice !== 'required' && !names.includes(choice.name)) {
    fail(`names the tool ${JSON.stringify(choice.name.slice(0, 128))}, which is not among tools`);
  }
}
