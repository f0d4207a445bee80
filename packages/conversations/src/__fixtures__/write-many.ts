import { openConversationStore } from '../index.ts';

const [path = '', writer = '', count = '0'] = process.argv.slice(2);
const store = openConversationStore(path);
for (let index = 0; index < Number(count); index++) store.create({ title: `${writer} ${index}` });
store.close();
process.disconnect();
