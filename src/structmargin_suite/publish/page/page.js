"use strict";
(function () {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const dark = function () { return root.dataset.theme ? root.dataset.theme === "dark" : system.matches; };
  const show = function () { button.setAttribute("aria-pressed", String(dark())); };
  // A browser may refuse to keep anything for a file on disk: then the choice lasts until the page is closed.
  const kept = function (theme) {
    try {
      if (theme) { localStorage.setItem("structmargin-theme", theme); }
      return localStorage.getItem("structmargin-theme");
    } catch (refused) { return null; }
  };
  if (kept()) { root.dataset.theme = kept() === "dark" ? "dark" : "light"; }
  show();
  system.addEventListener("change", show);
  button.addEventListener("click", function () {
    root.dataset.theme = dark() ? "light" : "dark";
    kept(root.dataset.theme);
    show();
  });

  // A link to something inside a closed section opens that section.
  const reveal = function () {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const closed = target && target.closest("details:not([open])");
    if (closed) { closed.open = true; target.scrollIntoView(); }
  };
  window.addEventListener("hashchange", reveal);
  reveal();

  const NUMBER = /^[-+\u2212]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?(\s*\u00b1.*)?$/i;
  const ABSENT = ["", "no run"];
  const number = function (text) { return parseFloat(text.replace("\u2212", "-")); };
  document.querySelectorAll("table.sortable").forEach(function (table) {
    const heads = Array.from(table.tHead.rows[0].cells);
    const body = table.tBodies[0];
    const first = Array.from(body.rows);
    heads.forEach(function (head, column) {
      const text = function (row) { return row.cells[column].dataset.sort || row.cells[column].textContent.trim(); };
      const present = first.map(text).filter(function (one) { return !ABSENT.includes(one); });
      const numeric = present.every(function (one) { return NUMBER.test(one); });
      const compare = function (a, b) { return numeric ? number(a) - number(b) : a.localeCompare(b); };
      const sorter = document.createElement("button");
      sorter.type = "button";
      sorter.title = "Sort";
      sorter.append(...head.childNodes);
      head.append(sorter);
      sorter.addEventListener("click", function () {
        const next = { ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")] || "ascending";
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        if (next === "none") { body.append(...first); return; }
        head.setAttribute("aria-sort", next);
        const sign = next === "ascending" ? 1 : -1;
        body.append(...first.slice().sort(function (one, other) {
          const a = text(one), b = text(other);
          const absent = ABSENT.includes(a) - ABSENT.includes(b);
          return absent || (ABSENT.includes(a) ? 0 : sign * compare(a, b));
        }));
      });
    });
  });
})();
