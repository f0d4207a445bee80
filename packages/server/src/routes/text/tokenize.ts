import { z } from 'zod';
import { messagesField } from '../../fields/messages.ts';
import { flag, text } from '../../fields/scalars.ts';
import { checkTemplateFields } from '../../fields/template-fields.ts';
import { badRequest } from '../../http/api-error.ts';
import { listJson } from '../../http/list-json.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { postRoute, type RequestBody } from '../../http/route.ts';
import type { ServedModel } from '../../models/served-model.ts';
import { promptOf, renderFields } from './chat-fields.ts';
import { tokenPiece } from './token-piece.ts';

const anyText = z.string({ error: 'must be a string' });

const tokenizeBody = z
  .object({
    model: text('Default: the first one.'),
    content: anyText.meta({ description: 'A text.' }).nullish(),
    prompt: anyText.meta({ description: 'Another name for content.' }).nullish(),
    messages: messagesField.nullish(),
    ...renderFields,
    add_special_tokens: flag('Begin a text with the start token where the model has one. Default: true.'),
    parse_special: flag('Take control words in a text for control tokens, as completions do. Default: true.'),
    return_token_strs: flag('Answer the text of each token in token_strs. Default: false.'),
    with_pieces: flag('Answer tokens as objects of id and piece. Default: false.'),
  })
  .superRefine(checkTemplateFields)
  .meta({ id: 'TokenizeRequest' });

const piece = z
  .union([z.string(), z.array(z.int().min(0).max(255))])
  .meta({ description: 'Text, or bytes where they are no whole characters.' });

const tokenized = z
  .object({
    tokens: z.union([z.array(z.int()), z.array(z.object({ id: z.int(), piece }))]),
    count: z.int(),
    max_model_len: z.int().meta({ description: 'Tokens that prompt and answer may have together.' }),
    token_strs: z.array(piece).optional(),
  })
  .meta({ id: 'Tokenized' });

/** The ids that a completion of the text, or a chat of the messages, would begin with. */
export const tokenizeRoute = postRoute({
  path: '/tokenize',
  tag: 'Text',
  summary: 'Turn a text, or messages, into token ids',
  body: tokenizeBody,
  example: { content: 'Why is the sky blue?', with_pieces: true },
  responses: { 200: [{ description: 'The ids.', schema: tokenized }] },
  handle: async (context, body) => {
    const { fields } = body;
    const served = await context.useModel(fields.model);
    const { model } = served;
    const ids = await encode(context, served, body);
    const list = (write: (id: number) => unknown) => listJson(ids, write, context.signal);
    const pieceOf = (id: number) => tokenPiece(model.tokenizer, id);
    const tokens = await list(fields.with_pieces ? (id) => ({ id, piece: pieceOf(id) }) : (id) => id);
    const texts = fields.return_token_strs ? `,"token_strs":${await list(pieceOf)}` : '';
    const json = `{"tokens":${tokens},"count":${ids.length},"max_model_len":${model.info.contextLength}${texts}}`;
    return new Response(json, { headers: { 'Content-Type': 'application/json' } });
  },
});

async function encode(
  { signal }: RequestContext,
  served: ServedModel,
  body: RequestBody<z.output<typeof tokenizeBody>>,
): Promise<Int32Array> {
  const { content, prompt, messages, add_special_tokens, parse_special } = body.fields;
  const given = [content, prompt, messages].filter((input) => input !== undefined && input !== null);
  if (given.length !== 1) {
    throw badRequest(
      'content',
      `Exactly one of content, prompt and messages must be given, but there are ${given.length}.`,
    );
  }
  if (messages) return (await promptOf(served, body, signal)).tokenIds;
  return served.model.tokenizer.encode(content ?? prompt!, {
    addBos: add_special_tokens === false ? false : 'auto',
    specialTokens: parse_special === false ? 'text' : 'parse',
    signal,
  });
}
