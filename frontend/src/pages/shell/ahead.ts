import { loadGrammar } from '../../state/filter';
import type { Language } from '../../text/language.svelte';

/** Fetch what people open first, before the connection may be gone: a click then still opens it. */
export async function fetchAhead(language: Language): Promise<void> {
  const parts = [
    language.complete(),
    loadGrammar(),
    import('../board/ArrangeBody.svelte'),
    import('../../parts/CopyForms.svelte'),
    import('../board/CutCard.svelte'),
    import('../board/Detail.svelte'),
    import('../board/FleetMap.svelte'),
    import('../board/GpuCards.svelte'),
    import('../board/NoMatch.svelte'),
    import('../board/NothingFits.svelte'),
    import('../board/SectionHead.svelte'),
    import('../board/TroubleList.svelte'),
    import('../board/gridKeys'),
    import('../account/AccountPages.svelte'),
    import('../bookings/BookForm.svelte'),
    import('../bookings/BookingsPage.svelte'),
    import('../gpu/GpuPage.svelte'),
    import('../node/NodePage.svelte'),
    import('../people/PeoplePage.svelte'),
    import('../people/PersonPage.svelte'),
    import('../usage/UsagePage.svelte'),
    import('./ConnectionBody.svelte'),
    import('./Help.svelte'),
    import('./MoreBody.svelte'),
    import('./News.svelte'),
    import('./PersonBody.svelte'),
    import('./Settled.svelte'),
    import('./arrive'),
    import('./keepFocus'),
    import('./results'),
    import('./shortcuts'),
    import('./tab'),
    import('./FilterPanel.svelte'),
    import('./Palette.svelte'),
  ];
  await Promise.allSettled(parts);
  performance.mark('fetched-ahead');
}
