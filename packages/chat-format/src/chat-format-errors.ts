import { HearthError, type HearthErrorOptions } from '@hearth/core';

/**
 * A chat template refused the messages or could not be rendered with them. When the template itself raised it (no system
 * role, roles that do not take turns), the message is the template's own and `details.raisedByTemplate` is true.
 */
export class TemplateError extends HearthError {
  constructor(message: string, options?: HearthErrorOptions) {
    super('template_error', message, options);
  }
}

/** The model has no chat template, so messages cannot be turned into a prompt. Raw completions still work. */
export class NoChatTemplateError extends HearthError {
  constructor(message: string, options?: HearthErrorOptions) {
    super('no_chat_template', message, options);
  }
}
