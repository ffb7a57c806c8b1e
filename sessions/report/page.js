// The page itself, made from the data.
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined));
  return node;
}

const data = JSON.parse(document.getElementById("data").textContent);
const model = new Model(data.nodes);
const scenes = [];
const degrees = (rad, digits = 1) => `${((rad * 180) / Math.PI).toFixed(digits)}°`;
const millimetres = (m, digits = 1) => `${(m * 1000).toFixed(digits)} mm`;
const shown = (key, value) => (key === "turn" ? degrees(value) : millimetres(value, 0));
const color = (name) => model.byName[name]?.color || "#7a8694";
const swatch = (c) => el("span", { class: "dot", style: `background:${c}` });
const TYPES = { rotary: "rotary joint", prismatic: "prismatic joint", fixed: "fixed", handle0: "handle, fixed grip", handle1: "handle, 1 DoF", handle2: "handle, 2 DoF" };

function chip(verdict) {
  if (!verdict) return el("span", { class: "chip plain" }, "no verdict");
  return verdict.good ? el("span", { class: "chip good" }, "good") : el("span", { class: "chip warn" }, "see remarks");
}

function clock(seconds) {
  const s = Math.max(0, seconds), m = Math.floor(s / 60);
  return `${m}:${(s - 60 * m).toFixed(1).padStart(4, "0")}`;
}

function bytes(n) {
  return n > 1e9 ? `${(n / 1e9).toFixed(2)} GB` : n > 1e6 ? `${(n / 1e6).toFixed(1)} MB` : `${(n / 1e3).toFixed(0)} kB`;
}

function heading() {
  const toggle = el("button", { type: "button", onclick: () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark") }, "Light / dark");
  const sub = [data.started, `${clock(data.duration)} min recorded`, data.file].filter(Boolean).join(" · ");
  return el("header", {}, el("div", {}, el("h1", {}, data.title), el("div", { class: "sub" }, sub)), toggle);
}

function tiles() {
  const joints = model.nodes.filter((n) => !model.isHandle(n)), handles = model.nodes.filter((n) => model.isHandle(n));
  const known = model.nodes.filter((n) => n.evidence), worst = (key) => Math.max(...known.map((n) => n.evidence[key] || 0));
  const open = model.nodes.filter((n) => n.verdict && !n.verdict.good).length;
  const entries = [
    [`${joints.length} + ${handles.length}`, "joints + handles"],
    [`${data.takes.length}`, "takes"],
    [known.length ? `± ${degrees(worst("axis_std_rad"), 2)}` : "–", "axis at worst (1 σ)"],
    [known.length ? `± ${millimetres(worst("position_std_m"), 2)}` : "–", "position at worst (1 σ)"],
    [data.calibration ? `± ${millimetres(data.calibration.std, 2)}` : "–", "gripper's tip (1 σ)"],
    [model.nodes.length ? (open ? `${open} to look at` : "all good") : "–", "verdict"],
  ];
  return el("div", { class: "tiles" }, entries.map(([value, name]) => el("div", { class: "tile card" }, el("b", {}, value), el("span", {}, name))));
}

// Points of drawn items, to frame a view; dashed lines may run out of it.
const corners = (items) => items.flatMap((item) => (item.dash ? [] : [...(item.line || []), ...(item.face || []), ...(item.dot ? [item.dot] : [])]));

function hero() {
  const canvas = el("canvas", { id: "model", "aria-label": "The identified object in 3-D; drag to turn" });
  const scene = new Scene(canvas, data.up);
  scenes.push(scene);
  const show = { tracks: true, names: true };
  const used = data.takes.filter((t) => model.byName[t.name]);
  const tracks = used.length ? used : data.takes;
  scene.frame([...tracks.flatMap((t) => t.points), ...corners(model.items(0.5))]);
  scene.refresh = () => {
    const lines = show.tracks ? tracks.filter((t) => t.points.length > 1).map((t) => ({ line: t.points, color: color(t.name), width: 1.3, alpha: 0.55 })) : [];
    scene.items = [...lines, ...model.items(scene.radius, show.names)];
    scene.draw();
  };
  const sliders = [];
  const update = () => { sliders.forEach((s) => s()); scene.refresh(); };
  const panel = el("div", { class: "panel" }, model.nodes.length ? null : el("p", { class: "muted" }, "No joint has been identified in this session; the measured movements are shown."));
  for (const { node, depth } of model.tree()) {
    const box = el("div", { class: "node", style: `--node:${node.color};--depth:${depth}` },
      el("div", { class: "head" }, el("h3", {}, swatch(node.color), node.name), el("span", { class: "muted small" }, TYPES[node.type] || node.type)));
    for (const c of model.coordinates().filter((entry) => entry.node === node)) {
      const input = el("input", { type: "range", min: c.lower, max: c.upper, step: "any", "data-coordinate": c.id, "aria-label": `${node.name} ${c.key}` });
      const value = el("output");
      input.addEventListener("input", () => { model.q[c.id] = Number(input.value); update(); });
      sliders.push(() => { input.value = model.q[c.id]; value.textContent = shown(c.key, model.q[c.id]); });
      box.append(el("label", { class: "slider" }, el("span", {}, c.key), input, value));
    }
    if (node.verdict) box.append(el("p", { class: "note" }, node.verdict.summary));
    panel.append(box);
  }
  let playing = 0;
  const play = el("button", { type: "button", onclick: () => {
    if (playing) { cancelAnimationFrame(playing); playing = 0; play.textContent = "Move"; return; }
    play.textContent = "Stop";
    const start = performance.now();
    const step = (now) => {
      model.coordinates().forEach((c, i) => {
        const phase = ((now - start) / 4000 + i * 0.13) * 2 * Math.PI;
        model.q[c.id] = c.lower + (c.upper - c.lower) * (0.5 - 0.5 * Math.cos(phase));
      });
      update();
      playing = requestAnimationFrame(step);
    };
    playing = requestAnimationFrame(step);
  } }, "Move");
  const flip = (key, text) => el("button", { type: "button", onclick: () => { show[key] = !show[key]; scene.refresh(); } }, text);
  const stage = el("div", { class: "stage" }, canvas,
    el("div", { class: "tools" }, model.coordinates().length ? play : null, flip("tracks", "Tracks"), flip("names", "Names"),
      el("button", { type: "button", onclick: () => { scene.zoom = 1; scene.yaw = -0.9; scene.pitch = 0.42; scene.draw(); } }, "Reset view")),
    el("div", { class: "hint" }, "drag to turn · click, then wheel to zoom"));
  update();
  return el("section", { class: "hero card" }, stage, panel);
}

function results() {
  if (!model.nodes.length) return null;
  const head = ["joint or handle", "axis in its parent's frame", "position in it (mm)", "range", "fit rms", "samples used", "grip", "verdict"];
  const rows = model.nodes.map((n) => {
    const e = n.evidence, axis = M.axis(n.origin, 2).map((v) => v.toFixed(4)).join(", "), at = M.origin(n.origin).map((v) => (v * 1000).toFixed(1)).join(", ");
    const range = model.coordinates().filter((c) => c.node === n).map((c) => (c.stops ? `${shown(c.key, c.lower)} … ${shown(c.key, c.upper)}` : `${c.key}: no stop`));
    const pm = (text) => el("div", { class: "pm small num" }, text);
    return el("tr", {},
      el("td", { class: "name" }, swatch(n.color), el("b", {}, n.name), el("div", { class: "muted small" }, `${TYPES[n.type] || n.type} on ${n.parent}`)),
      el("td", { class: "num" }, axis, e ? pm(`± ${degrees(e.axis_std_rad || 0, 2)}`) : null),
      el("td", { class: "num" }, at, e ? pm(`± ${millimetres(e.position_std_m || 0, 2)}`) : null),
      el("td", { class: "num" }, range.map((r) => el("div", {}, r)), n.radius ? pm(`radius ${millimetres(n.radius, model.isHandle(n) ? 1 : 0)}`) : null),
      el("td", { class: "num" }, e ? millimetres(e.rms_m || 0, 2) : "–", e ? pm(`noise ${millimetres(e.noise_m || 0, 2)}`) : null),
      el("td", { class: "num" }, e ? `${e.inliers} of ${e.samples}` : "–"), el("td", {}, e?.grip || "–"),
      el("td", {}, chip(n.verdict), n.verdict ? n.verdict.findings.map((f) => el("div", { class: "finding small" }, f)) : null));
  });
  const numeric = new Set([1, 2, 3, 4, 5]);
  return [el("h2", {}, "All numbers"), el("div", { class: "card scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, head.map((h, i) => el("th", { class: numeric.has(i) ? "num" : "" }, h)))), el("tbody", {}, rows)))];
}

// What was fitted to a take, with its ancestors where they stood while it was made.
function fitItems(take, scale) {
  const node = model.byName[take.name];
  if (!node || !take.curves.length) return [];
  const { fixed, moved } = model.frames(node.measured_at)[node.name];
  if (!model.isHandle(node)) return model.joint(node, fixed, moved, scale);
  const [low, high] = model.extent(node) ? model.range(node, "slide") : [-0.03, 0.03];
  return [{ line: [M.at(fixed, [0, 0, low]), M.at(fixed, [0, 0, high])], color: node.color, metres: 2 * (node.radius || 0.008), alpha: 0.3, cap: "butt" }];
}

function takeCard(take) {
  const c = color(take.name), canvas = el("canvas", { "aria-label": `Track of take ${take.number}; drag to turn` });
  const card = el("article", { class: "take card" },
    el("div", { class: "head" }, el("h3", {}, swatch(c), `${take.number} · ${take.name.replaceAll("_", " ")}`), take.verdict ? chip(take.verdict) : el("span", { class: "chip plain" }, take.kind.replaceAll("_", " "))),
    el("div", { class: "muted small num" }, `at ${clock(take.start)}, ${take.duration.toFixed(1)} s` + ("measured" in take.info ? `, ${take.info.measured} of ${take.info.samples} frames measured` : "")));
  if (take.points.length > 1) {
    card.append(canvas);
    const scene = new Scene(canvas, data.up);
    scenes.push(scene);
    scene.frame([...take.points, ...corners(fitItems(take, 0.2))]);
    scene.refresh = () => {
      scene.items = [...fitItems(take, scene.radius), { line: take.points, color: css("--ink"), width: 1.6, fade: true, lift: 1e-3 }];
      scene.draw();
    };
  }
  for (const curve of take.curves) {
    const turn = curve.key === "turn", value = curve.value.map((v) => (turn ? (v * 180) / Math.PI : v * 1000));
    card.append(chart([{ t: curve.t, value, color: c, name: turn ? "turn" : "slide", width: 2 }], { unit: turn ? "°" : "mm", width: 360, height: 110 }));
  }
  if (take.forces) card.append(chart(forceSeries(take.forces), { unit: "N", width: 360, height: 110 }));
  if (take.verdict) card.append(el("p", {}, take.verdict.summary), ...take.verdict.findings.map((f) => el("p", { class: "finding" }, f)));
  return card;
}

function forceSeries(forces, peak = false) {
  const names = ["Fx", "Fy", "Fz"], colors = ["#e0662b", "#12a37c", "#2f6fed"];
  const series = names.map((name, i) => ({ t: forces.t, value: forces.force[i], color: colors[i], name }));
  return peak ? [{ t: forces.t, value: forces.peak, color: "#98a4b1", name: "largest |F|", alpha: 0.7 }, ...series] : series;
}

function forces() {
  if (!data.forces) return null;
  const bands = data.takes.map((t) => ({ from: t.start, to: t.start + t.duration, text: `${t.number} ${t.name.replaceAll("_", " ")}`, color: color(t.name) }));
  const torque = ["Tx", "Ty", "Tz"].map((name, i) => ({ t: data.forces.t, value: data.forces.torque[i], color: ["#e0662b", "#12a37c", "#2f6fed"][i], name }));
  return [el("h2", {}, "Forces over time"), el("div", { class: "card pad" },
    el("div", { class: "muted small" }, "As measured, in the sensor's frame: weight of the gripper and bias included." + (data.forces.invalid ? ` ${data.forces.invalid} samples are not valid (saturated or faulty).` : "")),
    chart(forceSeries(data.forces, true), { unit: "N", bands, height: 220 }), chart(torque, { unit: "N m", height: 130, digits: 3 }))];
}

function list(entries) {
  return el("dl", {}, entries.filter(([, v]) => v !== undefined && v !== "").flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));
}

function calibration() {
  const c = data.calibration, soft = data.software, meta = data.metadata;
  const detail = (k, v) => [k.replaceAll("_", " "), /turn|angle/.test(k) ? degrees(v) : /gap|play|radius/.test(k) ? millimetres(v, 2) : v.toPrecision(4)];
  const tip = el("div", { class: "card pad" }, el("h3", {}, "Gripper's tip"), c
    ? list([["result", c.verdict], ["offset from the tracked body", `${c.offset.map((v) => (v * 1000).toFixed(2)).join(", ")} mm`], ["uncertainty", `± ${millimetres(c.std, 2)} (1 σ)`], ["method", c.method.replaceAll("-", " ")], ...Object.entries(c.details).map(([k, v]) => detail(k, v))])
    : el("p", { class: "muted" }, "The tip was not calibrated in this session."));
  const about = el("div", { class: "card pad" }, el("h3", {}, "This session"),
    list([...Object.entries(meta).filter(([k]) => !["session", "part", "format", "created_ns"].includes(k)).map(([k, v]) => [k, `${v}`]), ["session", meta.session], ...Object.entries(soft).map(([k, v]) => [k, `${v}`])]));
  return [el("h2", {}, "Calibration and settings"), el("div", { class: "pair" }, tip, about)];
}

function health() {
  const h = data.health, rows = h.streams.map((s) => el("tr", {}, el("td", {}, s.name), el("td", { class: "num" }, s.count.toLocaleString("en")), el("td", { class: "num" }, `${s.rate.toFixed(1)} Hz`),
    el("td", { class: "num" }, `${s.gaps}`), el("td", { class: "num" }, s.gaps ? `${(s.longest * 1000).toFixed(0)} ms` : "–"), el("td", { class: "num" }, `${(100 * s.good).toFixed(1)} %`)));
  return [el("h2", {}, "Recording"), el("div", { class: "card scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ["stream", "count", "rate", "gaps", "longest", "usable"].map((t, i) => el("th", { class: i ? "num" : "" }, t)))), el("tbody", {}, rows))),
    el("p", { class: "muted small" }, `${bytes(h.size)} in ${h.parts} file${h.parts > 1 ? "s" : ""}${h.closed ? "" : ", not ended properly"}.`)];
}

function happened() {
  const lines = data.story.map((s) => el("li", {}, el("time", {}, clock(s.t)), el("span", { class: s.kind }, s.text)));
  return lines.length ? [el("h2", {}, "What happened"), el("details", { class: "card pad" }, el("summary", {}, `${lines.length} entries`), el("ol", { class: "story" }, lines))] : null;
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  scenes.forEach((s) => s.refresh());
}

document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
document.getElementById("page").append(...[
  heading(), ...[...data.health.problems, ...data.notes].map((p) => el("p", { class: "problem" }, p)), tiles(), hero(), results(),
  data.takes.length ? [el("h2", {}, "Takes"), el("div", { class: "takes" }, data.takes.map(takeCard))] : null,
  forces(), calibration(), health(), happened(),
  el("footer", {}, `Made by ident ${data.software.ident || ""} from ${data.file}. Uncertainties are one standard deviation.`),
].flat(2).filter(Boolean));
scenes.forEach((s) => s.refresh());
let lightBeforePrint = null;
addEventListener("beforeprint", () => {
  lightBeforePrint = document.documentElement.dataset.theme;
  theme("light");
  document.querySelectorAll("details").forEach((d) => (d.open = true));
});
addEventListener("afterprint", () => theme(lightBeforePrint || "light"));
