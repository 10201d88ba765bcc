/** Tell how high the notices are that stay above the page, whenever that changes; returns the stop. */
export function watchNotices(tell: (pixels: number) => void): () => void {
  const notices = document.querySelector('#main')?.parentElement?.querySelector(':scope > section');
  if (!notices) return () => {};
  const look = () => {
    const staying = [...notices.children].filter((one) => getComputedStyle(one).position === 'sticky');
    tell(Math.max(0, ...staying.map((one) => one.getBoundingClientRect().height)));
  };
  const sizes = new ResizeObserver(look);
  const follow = () => {
    sizes.disconnect();
    for (const one of notices.children) sizes.observe(one);
    look();
  };
  const changes = new MutationObserver(follow);
  changes.observe(notices, { childList: true });
  follow();
  return () => {
    sizes.disconnect();
    changes.disconnect();
  };
}
