import { setImmediate } from 'node:timers/promises';
import { openConversationStore } from '../index.ts';

const store = openConversationStore(process.argv[2] ?? '');
const message = { role: 'user', content: 'text '.repeat(1000) } as const;
for (let index = 0; ; index++) {
  store.create({ messages: [message, message, message] });
  if (index === 5) process.send?.('some are there');
  await setImmediate();
}
