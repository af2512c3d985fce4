// What a page needs beside htmx: times that stay relative, stale values that say so, and a lost
// connection that is told. Without this script the page can be read; its times are then of the
// moment when it was loaded, and each has the absolute time in its title.
"use strict";

const UNITS = [[86400, "day"], [3600, "hour"], [60, "minute"]];

function relative(at, now) {
  const left = Math.trunc((at - now) / 1000);
  const size = Math.abs(left);
  for (const [seconds, word] of UNITS) {
    if (size >= seconds) {
      const count = Math.trunc(size / seconds);
      const text = `${count} ${word}${count === 1 ? "" : "s"}`;
      return left > 0 ? `in ${text}` : `${text} ago`;
    }
  }
  return left > 0 ? "in less than a minute" : "just now";
}

function tick() {
  const now = Date.now();
  for (const each of document.querySelectorAll("time[datetime]")) {
    const text = relative(Date.parse(each.dateTime), now);
    if (each.textContent !== text) each.textContent = text;
  }
  for (const each of document.querySelectorAll("[data-every] time")) {
    const age = (now - Date.parse(each.dateTime)) / 1000;
    each.parentElement.classList.toggle("old", age > 3 * Number(each.parentElement.dataset.every));
  }
}

let lostAt = null;

function lost() {
  const shown = document.getElementById("lost");
  if (lostAt !== null || !shown) return;
  lostAt = new Date();
  const time = document.createElement("time");
  time.dateTime = lostAt.toISOString();
  time.title = lostAt.toISOString();
  shown.querySelector("span").replaceChildren(time);
  shown.hidden = false;
  tick();
}

function found() {
  const shown = document.getElementById("lost");
  lostAt = null;
  if (shown) shown.hidden = true;
}

// A part of the page that is replaced keeps what the reader opened.
let opened = [];

document.addEventListener("htmx:beforeSwap", () => {
  opened = [...document.querySelectorAll("details[open][id]")].map((each) => each.id);
});
document.addEventListener("htmx:afterSettle", () => {
  for (const id of opened) {
    const each = document.getElementById(id);
    if (each) each.open = true;
  }
  tick();
});
document.addEventListener("htmx:sseMessage", () => { found(); tick(); });
document.addEventListener("htmx:sseOpen", found);
document.addEventListener("htmx:sseError", lost);
document.addEventListener("htmx:sendError", lost);
document.addEventListener("DOMContentLoaded", tick);
setInterval(tick, 5000);
