export { ByteDetokenizer, bytesOf, fakeSpecialTokens, fakeTokens } from './byte-codec.ts';
export { FakeBackend, type FakeBackendOptions, type FakeModelFunction } from './fake-backend.ts';
export { FakeCache } from './fake-cache.ts';
export { FakeChatTemplate } from './fake-chat-template.ts';
export { type CreateFakeModelOptions, createFakeModel } from './fake-model.ts';
export { fakeProgram } from './fake-program.ts';
export { FakeTokenizer } from './fake-tokenizer.ts';
export { hashScript, loopingScript, replyScript } from './scripts.ts';
