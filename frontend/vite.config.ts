import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';

declare const process: { env: Record<string, string | undefined> };

/**
 * What opens later comes with the one sheet that styles all of it. Vite's own loader of such sheets has answers to
 * questions that we do not ask; it would be a kilobyte of the first look.
 */
function laterStyles(): Plugin {
  const loader = `
    const sheets = new Map();
    function sheet(path, from) {
      const href = new URL(path, from).href;
      const coming = sheets.get(href) ?? new Promise((resolve, reject) => {
        const link = document.createElement('link');
        link.rel = 'stylesheet';
        link.href = href;
        link.onload = resolve;
        link.onerror = () => {
          // The board may be away: whoever asks next tries again.
          sheets.delete(href);
          link.remove();
          reject(new Error(href));
        };
        document.head.append(link);
      });
      sheets.set(href, coming);
      return coming;
    }
    export const __vitePreload = async (load, paths, from) =>
      (await Promise.all([load(), ...paths.map((path) => sheet(path, from))]))[0];
  `;
  return {
    name: 'later-styles',
    apply: 'build',
    enforce: 'pre',
    load: { filter: { id: /^\0vite\/preload-helper\.js$/ }, handler: () => loader },
  };
}

/**
 * No part has a `style` attribute beside its `style:` directives (the content policy forbids it, and a test looks), so
 * nobody has to take one apart to merge them.
 */
function plainStyles(): Plugin {
  const merging = 'if (value) {\n\t\t\t// strip comments';
  return {
    name: 'plain-styles',
    apply: 'build',
    transform: {
      filter: { id: /\/svelte\/src\/internal\/shared\/attributes\.js$/ },
      handler(code) {
        if (!code.includes(merging)) throw new Error('Svelte merges styles in another way now: look anew.');
        return { code: code.replace(merging, merging.replace('value', 'false')), map: null };
      },
    },
  };
}

export default defineConfig({
  // Relative addresses: the board may live under any path, and only index.html knows which (its <base>).
  base: './',
  plugins: [svelte(), laterStyles(), plainStyles()],
  build: {
    target: 'es2022',
    // light-dark() stays as written: every browser of our target knows it.
    cssTarget: ['chrome123', 'firefox121', 'safari17.5'],
    // Styles and pictures stay files of our own: the content policy allows nothing inline.
    assetsInlineLimit: 0,
    modulePreload: false,
    // All that the board needs at once travels in one file: it packs smaller than two. The styles of everything else
    // are one sheet.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'board', test: /src\/main\.ts$/, priority: 2 },
            { name: 'later', test: /\.css$/, priority: 1 },
          ],
        },
      },
    },
    license: { fileName: 'licenses.md' },
  },
  // Where `npm run dev` finds the board; script/dev sets it.
  server: {
    proxy: { '/api': { target: process.env['GPUBOARD_DEV_BOARD'] ?? 'http://127.0.0.1:8042', ws: true } },
  },
});
