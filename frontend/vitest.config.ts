import { mergeConfig } from 'vitest/config';
import vite from './vite.config';

export default mergeConfig(vite, {
  // Tests run the browser's half of Svelte, where state is live.
  resolve: { conditions: ['browser'] },
  // Styles are read too: their colours are measured.
  test: { include: ['tests/**/*.test.ts'], setupFiles: ['tests/setup.ts'], css: true },
});
