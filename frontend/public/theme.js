// Before the first paint: a dark room sees no white flash. Kept out of the bundle on purpose.
try {
  const { theme } = JSON.parse(localStorage.getItem('gpuboard') || '{}');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be forbidden: then the system decides.
}
