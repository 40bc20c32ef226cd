"use strict";
(function () {
  const root = document.documentElement;
  root.classList.add("scripted");
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

  // The contents: a menu on a phone, beside the page elsewhere; the filter leaves what has all its words,
  // a number as a whole (Table 1, but not SVM1).
  const menu = document.querySelector(".menu");
  const narrow = window.matchMedia("(max-width: 56rem)");
  const fold = function () {
    menu.open = !narrow.matches;
    document.querySelectorAll(".large .picture").forEach(function (picture) {  // they scroll on a phone: by keys too
      if (narrow.matches) { picture.tabIndex = 0; } else { picture.removeAttribute("tabindex"); }
    });
  };
  narrow.addEventListener("change", fold);
  fold();
  const filter = document.getElementById("filter");
  filter.addEventListener("input", function () {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = function (text, word) { return /^\d+$/.test(word) ? text.split(/[\s,]+/).includes(word) : text.includes(word); };
    menu.querySelectorAll("li[data-find]").forEach(function (entry) {
      entry.hidden = !words.every(function (word) { return has(entry.dataset.find, word); });
    });
    menu.querySelectorAll(".group").forEach(function (group) { group.hidden = !group.querySelector("li:not([hidden])"); });
  });

  // A link to something inside a closed section opens that section.
  const reveal = function () {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const closed = target && target.closest("details:not([open])");
    if (closed) { closed.open = true; target.scrollIntoView(); }
  };
  window.addEventListener("hashchange", reveal);
  reveal();

  // Tabs of a table: the one that has all chosen values; else the first that has the value chosen last.
  document.querySelectorAll(".block").forEach(function (block) {
    const tabs = Array.from(block.querySelectorAll(".tab"));
    const radios = Array.from(block.querySelectorAll(".choice input"));
    if (tabs.length < 2) { return; }
    const chosen = tabs.map(function (tab) { return JSON.parse(tab.dataset.chosen); });
    const key = function (radio) { return radio.closest(".choice").dataset.key; };
    const choose = function (last) {
      const wanted = radios.filter(function (radio) { return radio.checked; });
      const score = function (values) {
        return wanted.filter(function (radio) { return values[key(radio)] === radio.value; }).length
          + (last && values[key(last)] === last.value ? radios.length : 0);
      };
      const best = chosen.reduce(function (found, values, place) { return score(values) > score(chosen[found]) ? place : found; }, 0);
      tabs.forEach(function (tab, place) { tab.hidden = place !== best; });
      radios.forEach(function (radio) { radio.checked = chosen[best][key(radio)] === radio.value; });
    };
    radios.forEach(function (radio) { radio.addEventListener("change", function () { choose(radio); }); });
    choose(null);
  });
})();
