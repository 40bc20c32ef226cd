// A plot of the numbers beside a figure: choose a panel and the axes, point at a place or walk along with the arrows.
(function () {
  const SVG = "http://www.w3.org/2000/svg";
  const W = 560, H = 320, L = 58, R = 14, T = 12, B = 44;
  const make = function (name, given, parent) {
    const node = document.createElementNS(SVG, name);
    Object.entries(given || {}).forEach(function (pair) { node.setAttribute(pair[0], pair[1]); });
    if (parent) { parent.append(node); }
    return node;
  };
  const short = function (value) { return String(Number(value.toPrecision(4))).replace("-", "\u2212"); };
  const colour = function (series) { return series.colour === "#000000" ? "var(--plot-ink)" : series.colour; };
  const ticks = function (low, high, log) {
    const found = [];
    if (log) {
      for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
        [1, 2, 5].forEach(function (lead) {
          const value = lead * Math.pow(10, power);
          if (value >= low * 0.999 && value <= high * 1.001) { found.push(value); }
        });
      }
      return found.length > 7 ? found.filter(function (value) { return Math.abs(Math.log10(value) % 1) < 1e-9; }) : found;
    }
    const step = Math.pow(10, Math.floor(Math.log10((high - low) / 4 || 1)));
    const wide = [1, 2, 5, 10].map(function (times) { return times * step; }).find(function (size) { return (high - low) / size <= 6; });
    for (let value = Math.ceil(low / wide) * wide; value <= high + 1e-9 * wide; value += wide) { found.push(Number(value.toPrecision(10))); }
    return found;
  };
  document.querySelectorAll("script.plot-data").forEach(function (script, number) {
    const panels = JSON.parse(script.textContent);
    const figure = script.closest("figure"), holder = figure.querySelector(".plot"), still = figure.querySelector(".picture");
    const controls = document.createElement("div");
    controls.className = "controls";
    holder.append(controls);
    const labelled = function (text, control) {
      const label = document.createElement("label");
      label.append(text + " ", control);
      controls.append(label);
      return control;
    };
    const pick = document.createElement("select");
    panels.forEach(function (panel, place) { pick.add(new Option(panel.name, place)); });
    if (panels.length > 1) { labelled("Show", pick); }
    const check = function (text) {
      const box = document.createElement("input");
      box.type = "checkbox";
      return labelled(text, box);
    };
    const logX = check("log x"), logY = check("log y");
    const stage = make("svg", { viewBox: "0 0 " + W + " " + H, tabindex: "0", role: "img" });
    const said = document.createElement("output"), names = document.createElement("ul");
    names.className = "names";
    holder.append(stage, said, names);
    const hidden = new Set();
    let at = -1;
    const draw = function () {
      const panel = panels[Number(pick.value)];
      const shown = panel.series.filter(function (series, place) { return !hidden.has(pick.value + ":" + place); });
      const points = (shown.length ? shown : panel.series).flatMap(function (series) { return series.points; });
      const xs = points.map(function (p) { return p[0]; }), ys = points.map(function (p) { return p[1]; });
      logX.disabled = Math.min(...xs) <= 0; logY.disabled = Math.min(...ys) <= 0;
      const scale = function (values, log, from, to) {
        let low = Math.min(...values), high = Math.max(...values);
        if (low === high) { low -= log ? low / 2 : 0.5; high += log ? high : 0.5; }
        if (!log) { const room = 0.05 * (high - low); low -= low === 0 ? 0 : room; high += room; }
        const f = log ? Math.log : Number;
        return { low: low, high: high, of: function (value) { return from + (f(value) - f(low)) / (f(high) - f(low)) * (to - from); } };
      };
      const isX = logX.checked && !logX.disabled, isY = logY.checked && !logY.disabled;
      const x = scale(xs, isX, L, W - R), y = scale(ys, isY, H - B, T);
      stage.replaceChildren();
      stage.setAttribute("aria-label", still.getAttribute("aria-label") + " Arrow keys walk along the points.");
      ticks(x.low, x.high, isX).forEach(function (value) {
        make("line", { class: "grid", x1: x.of(value), x2: x.of(value), y1: T, y2: H - B }, stage);
        make("text", { x: x.of(value), y: H - B + 16, "text-anchor": "middle" }, stage).textContent = short(value);
      });
      ticks(y.low, y.high, isY).forEach(function (value) {
        make("line", { class: "grid", x1: L, x2: W - R, y1: y.of(value), y2: y.of(value) }, stage);
        make("text", { x: L - 6, y: y.of(value) + 4, "text-anchor": "end" }, stage).textContent = short(value);
      });
      make("line", { class: "axis", x1: L, x2: W - R, y1: H - B, y2: H - B }, stage);
      make("line", { class: "axis", x1: L, x2: L, y1: T, y2: H - B }, stage);
      make("text", { x: (L + W - R) / 2, y: H - 8, "text-anchor": "middle" }, stage).textContent = panel.x;
      make("text", { x: 14, y: (T + H - B) / 2, "text-anchor": "middle", transform: "rotate(-90 14 " + (T + H - B) / 2 + ")" }, stage).textContent = panel.y;
      const places = [];
      shown.forEach(function (series) {
        const group = make("g", { class: series.paper ? "series paper" : "series" }, stage);
        if (series.joined) {
          const way = series.points.map(function (p, k) { return (k ? "L" : "M") + x.of(p[0]).toFixed(1) + " " + y.of(p[1]).toFixed(1); }).join("");
          make("path", { d: way, stroke: colour(series) }, group);
        }
        const marked = !series.joined || series.points.length <= 60;
        series.points.forEach(function (p) {
          if (marked) { make("circle", { class: "point", cx: x.of(p[0]), cy: y.of(p[1]), r: series.points.length > 60 ? 2 : 3.5, stroke: colour(series), fill: series.paper ? "var(--plot-back)" : colour(series) }, group); }
          places.push({ series: series, p: p, x: x.of(p[0]), y: y.of(p[1]) });
        });
      });
      const ring = make("circle", { r: 7, fill: "none", class: "axis", visibility: "hidden" }, stage);
      const tell = function (place) {
        if (!place) { return; }
        ring.setAttribute("cx", place.x); ring.setAttribute("cy", place.y); ring.setAttribute("visibility", "visible");
        said.textContent = (place.series.name || "value") + ": " + short(place.p[1]) + " at " + short(place.p[0]);
      };
      stage.onpointermove = function (event) {
        const box = stage.getBoundingClientRect();
        const px = (event.clientX - box.left) / box.width * W, py = (event.clientY - box.top) / box.height * H;
        tell(places.reduce(function (near, place) {
          const far = Math.hypot(place.x - px, place.y - py);
          return !near || far < near.far ? Object.assign({ far: far }, place) : near;
        }, null));
      };
      stage.onkeydown = function (event) {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step || !places.length) { return; }
        event.preventDefault();
        at = (at + step + places.length) % places.length;
        tell(places[at]);
      };
      names.replaceChildren(...panel.series.map(function (series, place) {
        const entry = document.createElement("li"), label = document.createElement("label"), box = document.createElement("input"), swatch = document.createElement("span");
        box.type = "checkbox";
        box.checked = !hidden.has(pick.value + ":" + place);
        box.addEventListener("change", function () {
          if (box.checked) { hidden.delete(pick.value + ":" + place); } else { hidden.add(pick.value + ":" + place); }
          draw();
          names.querySelectorAll("input")[place].focus();
        });
        swatch.className = "swatch";
        swatch.style.borderTopColor = colour(series);
        if (series.paper) { swatch.style.borderTopStyle = "dotted"; }
        label.append(box, swatch, (series.name || "values") + (series.paper && !/paper/.test(series.name) ? ", the paper" : ""));
        entry.append(label);
        return entry;
      }));
    };
    const renew = function () {
      const panel = panels[Number(pick.value)];
      logX.checked = panel.logX; logY.checked = panel.logY; at = -1; said.textContent = "";
      draw();
    };
    pick.addEventListener("change", renew);
    logX.addEventListener("change", draw);
    logY.addEventListener("change", draw);
    const change = document.createElement("button");
    change.type = "button";
    change.className = "switch";
    const turn = function (moving) {
      holder.hidden = !moving; still.hidden = moving;
      change.textContent = moving ? "Show the printed figure" : "Explore the numbers";
    };
    change.addEventListener("click", function () { turn(holder.hidden); });
    figure.insertBefore(change, figure.querySelector("figcaption"));
    renew();
    turn(false);
  });
})();
