import { loadGrammar } from '../src/state/filter';

// Tests ask as a page does that has been open for a while.
await loadGrammar();
