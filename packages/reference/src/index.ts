export { createReferenceBackend } from './reference-backend.ts';
