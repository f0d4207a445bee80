export { serveCommand } from './serve-command.ts';
