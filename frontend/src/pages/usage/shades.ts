/** What reads alike looks alike: shades go by the figures as they are shown, not by what was rounded away. */
export interface Shades {
  /** Whether there is more than one figure, and so a fullest and an emptiest hour. */
  differ: boolean;
  /** From 0, the emptiest, to 1, the fullest; where all are alike each is full. */
  of: (percent: number) => number;
}

export function shadesBetween(emptiest: number, fullest: number): Shades {
  const [least, most] = [Math.round(emptiest), Math.round(fullest)];
  const differ = most > least;
  return { differ, of: (percent) => (differ ? (Math.round(percent) - least) / (most - least) : 1) };
}
