"use strict";
(() => {
  const age = document.getElementById("age");
  const taken = Number(age.dataset.at);
  const stamp = age.querySelector("time");
  stamp.title = stamp.textContent;
  stamp.textContent = new Date(taken * 1000).toLocaleString();
  const words = (seconds) => {
    if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
    if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
    if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
    return `${Math.round(seconds / 86400)} days`;
  };
  const note = document.createElement("span");
  age.append(" · ", note);
  const show = () => {
    const seconds = Date.now() / 1000 - taken;
    age.classList.toggle("old", seconds > 600);
    note.textContent = seconds > 600 ? `${words(seconds)} old: no longer true` : `${words(seconds)} ago`;
  };
  show();
  setInterval(show, 10000);
})();
