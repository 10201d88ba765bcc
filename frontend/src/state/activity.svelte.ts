import type { Client } from '../api/client';
import { Polled } from './polled.svelte';
import type { ActivityHour } from '../api/wire';

type Hour = (number | null)[];

/** An hour of use per GPU, one value a minute; asked for only while something draws it. */
export class ActivityFeed {
  #polled: Polled<ActivityHour>;

  constructor(client: Client, node: string | null) {
    this.#polled = new Polled(() => client.activity(node), 60);
  }

  of(uuid: string): Hour | null {
    const gpus = this.#polled.value?.gpus;
    // Nodes choose the names, and an object has some of its own.
    return gpus && Object.hasOwn(gpus, uuid) ? gpus[uuid]! : null;
  }

  start(): () => void {
    return this.#polled.start();
  }
}
