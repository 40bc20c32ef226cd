"use strict";
(function () {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const dark = function () {
    const set = root.dataset.theme;
    return set ? set === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
  };
  button.setAttribute("aria-pressed", String(dark()));
  button.addEventListener("click", function () {
    root.dataset.theme = dark() ? "light" : "dark";
    button.setAttribute("aria-pressed", String(dark()));
  });

  const number = function (text) {
    const found = text.replace("\u2212", "-").match(/^\s*[-+]?[0-9]*\.?[0-9]+(e[-+]?[0-9]+)?/i);
    return found ? parseFloat(found[0]) : NaN;
  };
  const compare = function (a, b) {
    const x = number(a), y = number(b);
    if (!isNaN(x) && !isNaN(y)) { return x - y; }
    if (a === "" || b === "") { return (a === "") - (b === ""); }
    return a.localeCompare(b);
  };
  document.querySelectorAll("table.sortable").forEach(function (table) {
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      const sorter = document.createElement("button");
      sorter.type = "button";
      sorter.textContent = head.textContent;
      head.textContent = "";
      head.appendChild(sorter);
      sorter.addEventListener("click", function () {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const body = table.tBodies[0];
        Array.from(body.rows)
          .map(function (row, place) { return { row: row, place: place, text: row.cells[column].textContent.trim() }; })
          .sort(function (a, b) { return (up ? 1 : -1) * compare(a.text, b.text) || a.place - b.place; })
          .forEach(function (item) { body.appendChild(item.row); });
      });
    });
  });
})();
