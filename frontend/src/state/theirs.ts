/** Which GPUs of a person pass the filter: what one types on the people page is what one types on the board. Pure. */

import { isOffered } from './answers';
import type { Filter } from './filter';
import type { FleetNode, Gpu } from './fleet.svelte';
import { matches } from './passing';
import { isSamePerson } from './people';

export function passesAs(
  filter: Filter,
  now: number,
  me: string | null,
): (gpu: Gpu, name: string, node: FleetNode) => boolean {
  return ({ record }, name, node) => {
    if (!filter.terms.length) return true;
    // As if nobody else were on it: who shares a GPU with somebody is not found by their name.
    const is = (other: string | null | undefined) => isSamePerson(other, name);
    const claim = record.claim && is(record.claim.who) ? { ...record.claim, behind: [] } : null;
    const users = record.users?.filter((use) => is(use.name)) ?? null;
    const nodeFree = node.gpus.filter((gpu) => isOffered(gpu.record)).length;
    const gpu = { ...record, users, claim, ended_claim: null };
    return matches(filter, { gpu, node: node.record, nodeFree, now, me });
  };
}
