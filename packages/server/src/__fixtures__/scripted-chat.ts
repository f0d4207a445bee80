import { loadChatTemplate } from '@hearth/chat-format';
import { bytesOf, type CreateFakeModelOptions, fakeSpecialTokens, fakeTokens } from '@hearth/engine/test';

const assistant = bytesOf('assistant\n');

/**
 * A model that answers each chat with `reply`, byte by byte, and ends its turn. Replies to one prompt after the other can
 * be told apart by the text of the prompt.
 */
export function scriptedChat(reply: string | ((prompt: string) => string)): CreateFakeModelOptions['next'] {
  return (context) => {
    const start = context.lastIndexOf(fakeTokens.imStart) + 1 + assistant.length;
    const prompt = () => Buffer.from(context.slice(0, start).filter((id) => id < 256)).toString();
    const bytes = bytesOf(typeof reply === 'string' ? reply : reply(prompt()));
    return bytes[context.length - start] ?? fakeTokens.imEnd;
  };
}

/** A template in the manner of Qwen3: calls in `<tool_call>`, thoughts in `<think>`, which the model opens itself. */
const qwenLike = `
{%- if tools %}<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}
{%- if enable_thinking is defined and not enable_thinking %}<think>

</think>

{% endif %}`;

/** A template that begins the thoughts of the model. */
const thinking = `
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
<think>{% endif %}`;

/** The same for a model that has not learnt to call or think. */
const plain = `
{%- for message in messages %}
{%- if message.role not in ['system', 'user', 'assistant'] %}{{ raise_exception('Roles must be system, user and assistant') }}{% endif %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

/** In the manner of Llama 3: a call is JSON instead of an answer. */
const llamaLike = `{# <|start_header_id|> #}
{%- for tool in tools or [] %}{{ tool | tojson }}{% endfor %}
{%- for message in messages %}
{%- if message.tool_calls %}{{ '{"name": "' + message.tool_calls[0].function.name + '", "parameters": ' }}
{%- endif %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

export const templates = { qwenLike, thinking, plain, llamaLike };

export function loadTemplate(name: keyof typeof templates) {
  return loadChatTemplate(
    { origin: name, template: templates[name] },
    { specialTokens: Object.keys(fakeSpecialTokens) },
  );
}

/** A scripted model with one of the templates. */
export async function scriptedModel(
  reply: Parameters<typeof scriptedChat>[0],
  template?: keyof typeof templates,
): Promise<CreateFakeModelOptions> {
  return {
    next: scriptedChat(reply),
    contextLength: 2048,
    cacheTokens: 8192,
    maxTokensPerStep: 64,
    ...(template && { chatTemplate: await loadTemplate(template) }),
  };
}
