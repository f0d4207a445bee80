import type { OutputEvent } from '@hearth/chat-format';
import { createAnswerId } from '../../generation/answer-id.ts';
import type { CallItem, MessageItem, OutputItem, OutputText, ReasoningItem, ResponseEvent } from './response-schema.ts';

type Logprobs = OutputText['logprobs'];

/** Builds the items of an answer from what the model writes, and says it in events: each item begins, grows and is done. */
export class ResponseItems {
  readonly output: OutputItem[] = [];
  /** The one that grows. */
  #open: OutputItem | undefined;

  push(event: OutputEvent, logprobs: Logprobs): ResponseEvent[] {
    switch (event.type) {
      case 'content':
        return this.#text('message', event.text, logprobs);
      case 'reasoning':
        return this.#text('reasoning', event.text, []);
      case 'toolCallStart':
        return [...this.#close('completed'), ...this.#begin(newCall(event.id, event.name))];
      case 'toolCallArguments':
        return [this.#argumentsDelta(event.text)];
      case 'toolCallEnd':
        return this.#close('completed');
      default:
        return [];
    }
  }

  /** The answer has ended. It has a message, though an empty one, where it has no call. */
  finish(isCut: boolean, logprobs: Logprobs): ResponseEvent[] {
    const isEmpty = this.output.every(({ type }) => type === 'reasoning');
    const rest = isEmpty || (logprobs.length > 0 && this.#open?.type === 'message');
    const events = rest ? this.#text('message', '', logprobs) : [];
    return [...events, ...this.#close(isCut ? 'incomplete' : 'completed')];
  }

  #text(type: 'message' | 'reasoning', delta: string, logprobs: Logprobs): ResponseEvent[] {
    const events: ResponseEvent[] = [];
    if (this.#open?.type !== type) {
      events.push(...this.#close('completed'), ...this.#begin(type === 'message' ? newMessage() : newReasoning()));
      const part = type === 'message' ? newText() : ({ type: 'reasoning_text', text: '' } as const);
      events.push({ type: 'response.content_part.added', ...this.#place(), content_index: 0, part: { ...part } });
      (this.#open as { content: unknown[] }).content.push(part);
    }
    if (delta === '' && logprobs.length === 0) return events;
    const item = this.#open as MessageItem | ReasoningItem;
    const part = item.content[0]!;
    part.text += delta;
    const place = { ...this.#place(), content_index: 0 };
    if (part.type === 'reasoning_text') events.push({ type: 'response.reasoning_text.delta', ...place, delta });
    else {
      part.logprobs.push(...logprobs);
      events.push({ type: 'response.output_text.delta', ...place, delta, logprobs });
    }
    return events;
  }

  #argumentsDelta(delta: string): ResponseEvent {
    (this.#open as CallItem).arguments += delta;
    return { type: 'response.function_call_arguments.delta', ...this.#place(), delta };
  }

  #begin(item: OutputItem): ResponseEvent[] {
    this.#open = item;
    this.output.push(item);
    // A copy: it goes on to change.
    const added = item.type === 'function_call' ? { ...item } : { ...item, content: [] };
    return [{ type: 'response.output_item.added', output_index: this.output.length - 1, item: added }];
  }

  #close(status: 'completed' | 'incomplete'): ResponseEvent[] {
    const item = this.#open;
    if (!item) return [];
    item.status = status;
    const events = [...this.#doneParts(item)];
    events.push({ type: 'response.output_item.done', output_index: this.output.length - 1, item });
    this.#open = undefined;
    return events;
  }

  #doneParts(item: OutputItem): ResponseEvent[] {
    const place = this.#place();
    if (item.type === 'function_call') {
      const { name, arguments: text } = item;
      return [{ type: 'response.function_call_arguments.done', ...place, name, arguments: text }];
    }
    const part = item.content[0]!;
    const whole = { ...place, content_index: 0 };
    const done: ResponseEvent =
      part.type === 'reasoning_text'
        ? { type: 'response.reasoning_text.done', ...whole, text: part.text }
        : { type: 'response.output_text.done', ...whole, text: part.text, logprobs: part.logprobs };
    return [done, { type: 'response.content_part.done', ...whole, part }];
  }

  #place() {
    return { item_id: this.#open!.id, output_index: this.output.length - 1 };
  }
}

function newMessage(): MessageItem {
  return { id: createAnswerId('msg_'), type: 'message', role: 'assistant', status: 'in_progress', content: [] };
}

function newText(): OutputText {
  return { type: 'output_text', text: '', annotations: [], logprobs: [] };
}

function newReasoning(): ReasoningItem {
  return { id: createAnswerId('rs_'), type: 'reasoning', summary: [], content: [], status: 'in_progress' };
}

function newCall(callId: string, name: string): CallItem {
  return {
    id: createAnswerId('fc_'),
    type: 'function_call',
    call_id: callId,
    name,
    arguments: '',
    status: 'in_progress',
  };
}
