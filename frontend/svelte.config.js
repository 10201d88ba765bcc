import { readdirSync } from 'node:fs';
import { vitePreprocess } from '@sveltejs/vite-plugin-svelte';

// The class that ties a style to its part travels with every element: a number is shorter than a hash.
const parts = readdirSync(new URL('src', import.meta.url), { recursive: true })
  .filter((name) => name.endsWith('.svelte'))
  .map((name) => `src/${name.replaceAll('\\', '/')}`)
  .sort();
function cssHash({ hash, filename }) {
  const place = parts.indexOf(filename.replaceAll('\\', '/'));
  // A part made while the development server runs.
  return place < 0 ? `s-${hash(filename)}` : `s${place.toString(36)}`;
}

export default {
  preprocess: vitePreprocess(),
  compilerOptions: { runes: true, discloseVersion: false, cssHash },
};
