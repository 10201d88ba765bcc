import type { Language } from '../../text/language.svelte';

/** Fetch what people open first, before the connection may be gone: a click then still opens it. */
export async function fetchAhead(language: Language): Promise<void> {
  const parts = [
    language.complete(),
    import('../board/Detail.svelte'),
    import('../board/gridKeys'),
    import('../gpu/GpuPage.svelte'),
    import('../node/NodePage.svelte'),
    import('../people/PeoplePage.svelte'),
    import('./ConnectionBody.svelte'),
    import('./arrive'),
    import('./shortcuts'),
  ];
  await Promise.allSettled(parts);
}
