import type { ChatTemplateSource, RenderedChat, RenderRequest, Segment } from '@hearth/chat-format';
import { DisposedError, throwIfAborted } from '@hearth/core';
import type { ModelChatTemplate } from '../chat/render-chat.ts';

/** What the fake template does, in the language of templates. */
const chatml =
  "{{ '<s>' }}{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/** ChatML with a start token, without a worker: `<s><|im_start|>user\nhi<|im_end|>\n…`. */
export class FakeChatTemplate implements ModelChatTemplate {
  readonly origin: string;
  /** Not rendered: it is there for whoever tells styles of calls and reasoning by it. */
  readonly source: ChatTemplateSource;
  isDisposed = false;

  constructor(source: ChatTemplateSource = { origin: 'fake', template: chatml }) {
    this.source = source;
    this.origin = source.origin;
  }

  async warmUp(): Promise<void> {}

  async render({ messages, addGenerationPrompt, continueFinalMessage, signal }: RenderRequest): Promise<RenderedChat> {
    if (this.isDisposed) throw new DisposedError('chat template');
    throwIfAborted(signal);
    const segments: Segment[] = [{ control: '<s>' }];
    for (const { role, content } of messages) {
      const text = typeof content === 'string' ? content : (content ?? []).map((part) => part.text).join('\n');
      segments.push(
        { control: '<|im_start|>' },
        { text: `${role}\n${text}` },
        { control: '<|im_end|>' },
        { text: '\n' },
      );
    }
    if (continueFinalMessage) segments.splice(-2);
    if (addGenerationPrompt) segments.push({ control: '<|im_start|>' }, { text: 'assistant\n' });
    const text = segments.map((segment) => ('text' in segment ? segment.text : segment.control)).join('');
    return { text, segments };
  }

  async dispose(): Promise<void> {
    this.isDisposed = true;
  }
}
