// Runs before the first paint, so that a dark room sees no white flash. Kept out of the bundle on purpose.
(function () {
  var choice = null;
  try {
    choice = JSON.parse(localStorage.getItem('gpuboard') || '{}').theme;
  } catch (_) {
    /* storage may be forbidden: then the system decides */
  }
  if (choice === 'light' || choice === 'dark') document.documentElement.dataset.theme = choice;
})();
