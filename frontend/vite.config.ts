import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

declare const process: { env: Record<string, string | undefined> };

export default defineConfig({
  // Relative addresses: the board may live under any path, and only index.html knows which (its <base>).
  base: './',
  plugins: [svelte()],
  build: {
    target: 'es2022',
    // light-dark() stays as written: every browser of our target knows it.
    cssTarget: ['chrome123', 'firefox121', 'safari17.5'],
    // Styles and pictures stay files of our own: the content policy allows nothing inline.
    assetsInlineLimit: 0,
    // One style sheet: a few kB, and no loader that fetches a sheet for every part.
    cssCodeSplit: false,
    modulePreload: false,
    // All that the board needs at once travels in one file: it packs smaller than two.
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: 'board', test: /src\/main\.ts$/ }] } },
    },
    license: { fileName: 'licenses.md' },
  },
  // Where `npm run dev` finds the board; script/dev sets it.
  server: {
    proxy: { '/api': { target: process.env['GPUBOARD_DEV_BOARD'] ?? 'http://127.0.0.1:8042', ws: true } },
  },
});
