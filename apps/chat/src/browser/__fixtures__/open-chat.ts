import type { Locator, Page } from 'playwright-core';

/** What a person does on the page. */
export class ChatPage {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  get box(): Locator {
    return this.page.getByRole('textbox', { name: 'Message' });
  }

  get questions(): Locator {
    return this.page.locator('.question .bubble');
  }

  /** The texts of the answers. */
  get answers(): Locator {
    return this.page.locator('.answer .markdown');
  }

  button(name: string): Locator {
    return this.page.getByRole('button', { name, exact: true });
  }

  async send(text: string): Promise<void> {
    await this.box.fill(text);
    await this.box.press('Enter');
  }

  /** Waits until there are so many answers, and none is being written. */
  async answered(count: number): Promise<void> {
    await this.button('Answer again')
      .nth(count - 1)
      .waitFor();
  }

  /** Sends, and waits for the answer. */
  async ask(text: string): Promise<string> {
    const count = await this.answers.count();
    await this.send(text);
    await this.answered(count + 1);
    return (await this.answers.nth(count).textContent())!;
  }
}
