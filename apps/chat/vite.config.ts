import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { compressedFiles } from './build-tools/compressed-files.ts';

/** `pnpm --filter @hearth/chat-page dev` shows the sources, on top of a server at its usual address. */
const serverInDevelopment = 'http://127.0.0.1:8080';

export default defineConfig({
  plugins: [react(), compressedFiles()],
  build: {
    target: 'es2022',
    // Data in URLs of scripts and styles is nothing that the content security policy allows.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // One file of 180 kB compressed is sooner there than several that ask for each other.
    chunkSizeWarningLimit: 700,
  },
  server: { proxy: { '/v1': serverInDevelopment, '/metrics': serverInDevelopment } },
});
