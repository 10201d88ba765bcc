/** What is said of a GPU when one points at it: one line, whole sentences stand in the detail. */

import type { GpuRow } from '../api/wire';
import type { Language } from '../text/language.svelte';
import { reasonText } from '../text/reasons';
import { steadyUse } from '../state/figures';
import { lasting } from './lasting';
import { cellWords, endedWords, flagWords, isIgnored, isInBooking, leftOf, userNames } from './words';

export function tipWords(gpu: GpuRow, now: number, language: Language): string {
  const { memory, number, say } = language;
  const mute = ['stale', 'broken', 'unknown'].includes(gpu.verdict) || gpu.reason.code === 'divided';
  if (mute && !isIgnored(gpu)) return reasonText(gpu.reason, now, language, gpu.since);
  const use = steadyUse(gpu);
  const facts = [
    isIgnored(gpu) ? say('notCounted') : say(gpu.verdict),
    lasting(gpu, now, language),
    endedWords(gpu, now, language),
  ];
  if (leftOf(gpu, now) !== null) {
    const { main, time } = cellWords(gpu, now, language);
    facts.push(`${main} ${time}`);
  }
  if (gpu.verdict === 'booked')
    facts.push(gpu.claim?.who ?? '', gpu.claim?.is_unverified ? say('unverified') : '');
  else if (gpu.verdict !== 'free') {
    if (use !== null) facts.push(`${number(use)} %`);
    // Of the past there is one figure.
    if (use !== null && gpu.utilization_percent !== null && gpu.reason.code !== 'past')
      facts.push(say('useNow', { percent: gpu.utilization_percent }));
    if (gpu.memory_used_bytes !== null)
      facts.push(
        say('usedOf', { used: memory(gpu.memory_used_bytes), total: memory(gpu.memory_total_bytes) }),
      );
    facts.push(...userNames(gpu, language), isInBooking(gpu) ? say('inBooking') : '');
  }
  return [...facts, ...flagWords(gpu, language)].filter(Boolean).join(' · ');
}
