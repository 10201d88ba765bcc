import type { ActivityHour, FleetView, FreeAnswer, GpuView, NodeView, Readiness } from './wire';

/** The board said no, or could not be reached (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Asks the board for what the stream does not carry. */
export class Client {
  constructor(readonly base: URL) {}

  node = (name: string): Promise<NodeView> => this.get(`nodes/${encodeURIComponent(name)}`);
  gpu = (uuid: string): Promise<GpuView> => this.get(`gpus/${encodeURIComponent(uuid)}`);
  /** Everything about everything: with all processes. */
  fleet = (): Promise<FleetView> => this.get('fleet');
  /** The last hour, of one node or of all. */
  activity = (node: string | null): Promise<ActivityHour> =>
    this.get(node === null ? 'activity' : `activity?node=${encodeURIComponent(node)}`);

  /** Where GPUs are free now that fit, the best first. */
  free = (query: string): Promise<FreeAnswer> => this.get(`free?${query}`);

  /** Whether the board works, and how its parts are. */
  readiness = (): Promise<Readiness> => this.get('../../readyz');

  /** Whatever else the API tells: what only later parts of the page ask for is spelled there. */
  async get<Answer>(path: string): Promise<Answer> {
    let response: Response;
    try {
      response = await fetch(new URL(`api/v1/${path}`, this.base), {
        headers: { accept: 'application/json' },
      });
    } catch (error) {
      throw new ApiError(0, String(error));
    }
    if (response.ok) return (await response.json()) as Answer;
    const problem = (await response.json().catch(() => ({}))) as { title?: string; detail?: string };
    throw new ApiError(response.status, problem.detail ?? problem.title ?? response.statusText);
  }
}
