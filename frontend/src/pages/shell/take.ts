import type { GpuRow } from '../../api/wire';
import { takeCommand } from '../../parts/command';
import { isIgnored } from '../../parts/words';
import { isOffered } from '../../state/answers';
import type { App } from '../../state/context';
import { copyText } from '../../ui/copy';

/** Copies the command of the GPU that is looked at, if it is offered; returns what to tell about it. */
export async function take(app: App): Promise<string> {
  const { fleet, language, router, selection, session } = app;
  const { say } = language;
  const shown = router.route.page === 'gpu' ? router.route.uuid : '';
  const uuid = selection.chosen ?? focused() ?? selection.uuid ?? shown;
  const gpu = fleet.gpus.get(uuid)?.record;
  if (!gpu) return '';
  await language.complete();
  const name = `${gpu.node} ${say('gpu')} ${gpu.label}`;
  const why = whyNot(gpu, app);
  if (why) return say('nothingCopied', { gpu: name, why });
  const done = await copyText(takeCommand(fleet, gpu.node, [gpu], session.me));
  return done ? `${say('copied')}. ${name}` : say('nothingCopied', { gpu: name, why: say('copyFailed') });
}

/** The GPU that the keys have reached. */
function focused(): string | undefined {
  return document.activeElement?.closest<HTMLElement>('main [data-uuid]')?.dataset['uuid'];
}

function whyNot(gpu: GpuRow, { connection, fleet, language: { say } }: App): string {
  if (!connection.isCurrent)
    return say(connection.past ? 'notLive' : connection.paused ? 'paused' : connection.status);
  if (isIgnored(gpu)) return say('notCounted');
  if (!isOffered(gpu)) return gpu.verdict === 'free' ? 'MIG' : say(gpu.verdict);
  return takeCommand(fleet, gpu.node, [gpu]) ? '' : say('copyFailed');
}
