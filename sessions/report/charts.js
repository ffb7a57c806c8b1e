// Curves over time as SVG, so that they print sharply.
const SVG = "http://www.w3.org/2000/svg";

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function ticks(low, high, count) {
  const raw = (high - low) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) || power;
  const out = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-6; v += step) out.push(Math.abs(v) < step * 1e-6 ? 0 : v);
  return out;
}

// series: [{t, value, color, name}]; bands: [{from, to, text, color}]
function chart(series, { unit, width = 1160, height = 190, bands = [], digits = 1 }) {
  const box = el("div", { class: "chart" });
  const all = series.flatMap((s) => s.value);
  if (!all.length) return box;
  const left = width > 600 ? 46 : 34, right = 8, top = bands.length ? 20 : 8, bottom = 20;
  const t0 = Math.min(...series.map((s) => s.t[0])), t1 = Math.max(...series.map((s) => s.t[s.t.length - 1]));
  let low = Infinity, high = -Infinity;
  for (const v of all) { low = Math.min(low, v); high = Math.max(high, v); }
  const pad = (high - low || Math.abs(high) || 1) * 0.06;
  low -= pad; high += pad;
  const x = (t) => left + ((t - t0) / (t1 - t0 || 1)) * (width - left - right);
  const y = (v) => height - bottom - ((v - low) / (high - low)) * (height - top - bottom);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${series.map((s) => s.name).join(", ")} in ${unit} over time` });
  for (const band of bands) {
    root.append(svg("rect", { class: "band", x: x(band.from), width: Math.max(1, x(band.to) - x(band.from)), y: top, height: height - top - bottom }));
    root.append(svg("rect", { fill: band.color, x: x(band.from), width: Math.max(1, x(band.to) - x(band.from)), y: top - 3, height: 3 }));
    root.append(svg("text", { x: x(band.from), y: top - 8 }, band.text));
  }
  for (const v of ticks(low, high, Math.max(2, height / 32))) {
    root.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: y(v), y2: y(v) }));
    root.append(svg("text", { x: left - 8, y: y(v) + 4, "text-anchor": "end" }, `${+v.toFixed(4)}`));
  }
  for (const t of ticks(t0, t1, width / (width > 600 ? 110 : 75))) root.append(svg("text", { x: x(t), y: height - 5, "text-anchor": "middle" }, `${+t.toFixed(3)} s`));
  for (const s of series) {
    const path = s.t.map((t, i) => `${i ? "L" : "M"}${x(t).toFixed(1)} ${y(s.value[i]).toFixed(1)}`).join("");
    root.append(svg("path", { d: path, fill: "none", stroke: s.color, "stroke-width": s.width || 1.4, "stroke-linejoin": "round", opacity: s.alpha || 1 }));
  }
  const cursor = svg("line", { class: "axis", y1: top, y2: height - bottom, visibility: "hidden" });
  const legend = el("div", { class: "legend" });
  const readings = series.map((s, k) => {
    const value = el("span", { class: "num" });
    legend.append(el("span", {}, el("i", { style: `background:${s.color}` }), k || series.length > 1 ? `${s.name} ` : `${s.name} (${unit}) `, value));
    return value;
  });
  if (series.length > 1) legend.append(el("span", {}, `(${unit})`));
  root.append(cursor);
  const hide = () => { cursor.setAttribute("visibility", "hidden"); readings.forEach((r) => (r.textContent = "")); };
  root.addEventListener("pointerleave", hide);
  root.addEventListener("pointermove", (e) => {
    const r = root.getBoundingClientRect(), t = t0 + (((e.clientX - r.left) / r.width) * width - left) / (width - left - right) * (t1 - t0);
    if (t < t0 || t > t1) return hide();
    cursor.setAttribute("x1", x(t)); cursor.setAttribute("x2", x(t)); cursor.setAttribute("visibility", "visible");
    series.forEach((s, k) => {
      let i = s.t.findIndex((v) => v >= t);
      if (i < 0) i = s.t.length - 1;
      readings[k].textContent = s.value[i].toFixed(digits);
    });
  });
  box.append(legend, root);
  return box;
}
