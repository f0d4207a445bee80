import { detectReasoning, detectToolCallStyle, type ToolCallStyle } from '@hearth/chat-format';
import { type ConstraintCompiler, createConstraintCompiler } from '@hearth/constraints';
import { DisposedError } from '@hearth/core';
import type { Model } from '@hearth/engine';
import { Drafts, type DraftsOptions } from '../compose/drafts.ts';
import type { LoadedModel } from '../server-options.ts';

/** A loaded model with what the server has found out about it. */
export class ServedModel {
  readonly name: string;
  readonly model: Model;
  /** How it calls tools; undefined when its template has no calls, or none of a form that is known. */
  readonly toolCallStyle: ToolCallStyle | undefined;
  /** Whether its template writes tools into the prompt. */
  readonly takesTools: boolean;
  /** Whether it thinks in a block before it answers. */
  readonly canReason: boolean;
  /** Messages to it that are being written. */
  readonly drafts: Drafts;
  readonly #loaded: LoadedModel;
  #constraints: ConstraintCompiler | undefined;
  #isDisposed = false;

  constructor(name: string, loaded: LoadedModel, draftsOptions?: DraftsOptions) {
    this.name = name;
    this.model = loaded.model;
    this.#loaded = loaded;
    this.drafts = new Drafts(this.model, draftsOptions);
    const { template, toolTemplate } = this.model.chatTemplate?.source ?? {};
    const usedWithTools = toolTemplate ?? template ?? '';
    this.toolCallStyle = detectToolCallStyle(usedWithTools);
    this.takesTools = /\btools\b/.test(usedWithTools);
    this.canReason = detectReasoning(template ?? toolTemplate ?? '');
  }

  /**
   * Compiles schemas and grammars for the model's vocabulary. Its threads start when they are first needed.
   * @throws DisposedError once the model was unloaded
   */
  get constraints(): ConstraintCompiler {
    // A request that was stopped may come here late, and nobody would end the threads.
    if (this.#isDisposed) throw new DisposedError('model');
    const { tokenizer, info } = this.model;
    this.#constraints ??= createConstraintCompiler(tokenizer, { vocabSize: info.vocabSize });
    return this.#constraints;
  }

  async dispose(): Promise<void> {
    this.#isDisposed = true;
    try {
      await Promise.all([this.drafts.dispose(), this.#constraints?.dispose()]);
    } finally {
      await this.#loaded.dispose();
    }
  }
}
