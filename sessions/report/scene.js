// A small 3-D view on a 2-D canvas: orbit with the mouse, one finger or the arrow keys.
class Scene {
  constructor(canvas, up, { grid = true } = {}) {
    this.canvas = canvas;
    this.grid = grid;
    this.items = [];
    this.yaw = -0.9;
    this.pitch = 0.42;
    this.zoom = 1;
    this.center = [0, 0, 0];
    this.points = [];
    this.reach = null;
    this.radius = 1;
    this.floor = 0;
    this.up = V.unit(up);
    const hint = Math.abs(this.up[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0];
    this.east = V.unit(V.sub(hint, V.scale(this.up, V.dot(hint, this.up))));
    this.north = V.cross(this.up, this.east);
    canvas.tabIndex = 0;
    this.listen();
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  // Look at the given points; they also set the height of the floor.
  frame(points) {
    if (!points.length) return;
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    let floor = Infinity;
    for (const p of points) {
      for (let k = 0; k < 3; k++) { low[k] = Math.min(low[k], p[k]); high[k] = Math.max(high[k], p[k]); }
      floor = Math.min(floor, V.dot(p, this.up));
    }
    this.center = V.mix(low, high, 0.5);
    this.radius = Math.max(0.02, V.norm(V.sub(high, low)) / 2);
    this.floor = floor - 0.08 * this.radius;
    this.points = points;
    this.reach = null;
  }

  // The nearest distance, in radii, from which all points are inside the picture as it stands.
  fitting(w, h) {
    for (let reach = 1.5; reach < 6; reach *= 1.04) {
      this.eye = this.radius * reach;
      const inside = this.points.every((p) => {
        const at = this.project(p);
        return at && Math.abs(at[0] - w / 2) < 0.42 * w && Math.abs(at[1] - h / 2) < 0.4 * h;
      });
      if (inside) return reach;
    }
    return 6;
  }

  listen() {
    const touches = new Map();
    let spread = 0;
    this.canvas.addEventListener("pointerdown", (e) => {
      touches.set(e.pointerId, [e.clientX, e.clientY]);
      this.canvas.setPointerCapture(e.pointerId);
      this.canvas.focus({ preventScroll: true });
    });
    const end = (e) => { touches.delete(e.pointerId); spread = 0; };
    this.canvas.addEventListener("pointerup", end);
    this.canvas.addEventListener("pointercancel", end);
    this.canvas.addEventListener("pointermove", (e) => {
      const before = touches.get(e.pointerId);
      if (!before) return;
      touches.set(e.pointerId, [e.clientX, e.clientY]);
      if (touches.size === 1) return this.turn((e.clientX - before[0]) * 0.008, (e.clientY - before[1]) * 0.008);
      const [a, b] = [...touches.values()];
      const now = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (spread) this.scale(now / spread);
      spread = now;
    });
    this.canvas.addEventListener("wheel", (e) => {
      if (document.activeElement !== this.canvas && !e.ctrlKey) return;
      e.preventDefault();
      this.scale(Math.exp(-e.deltaY * 0.0015));
    }, { passive: false });
    this.canvas.addEventListener("keydown", (e) => {
      const turns = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] };
      if (turns[e.key]) this.turn(...turns[e.key]);
      else if (e.key === "+") this.scale(1.15);
      else if (e.key === "-") this.scale(1 / 1.15);
      else return;
      e.preventDefault();
    });
  }

  turn(yaw, pitch) {
    this.yaw -= yaw;
    this.pitch = Math.min(1.5, Math.max(-1.5, this.pitch + pitch));
    this.draw();
  }

  scale(factor) {
    this.zoom = Math.min(12, Math.max(0.2, this.zoom * factor));
    this.draw();
  }

  draw() {
    const box = this.canvas.getBoundingClientRect(), dpr = window.devicePixelRatio || 1;
    const w = Math.max(1, box.width), h = Math.max(1, box.height);
    if (this.canvas.width !== Math.round(w * dpr) || this.canvas.height !== Math.round(h * dpr)) {
      this.canvas.width = Math.round(w * dpr);
      this.canvas.height = Math.round(h * dpr);
    }
    const g = (this.g = this.canvas.getContext("2d"));
    g.setTransform(dpr, 0, 0, dpr, 0, 0);
    g.clearRect(0, 0, w, h);
    const cp = Math.cos(this.pitch), sp = Math.sin(this.pitch), cy = Math.cos(this.yaw), sy = Math.sin(this.yaw);
    const flat = V.add(V.scale(this.east, cy), V.scale(this.north, sy));
    this.back = V.add(V.scale(flat, cp), V.scale(this.up, sp));
    this.right = V.add(V.scale(this.east, -sy), V.scale(this.north, cy));
    this.top = V.cross(this.back, this.right);
    this.focal = 1.4 * Math.min(w, h);
    this.mid = [w / 2, h / 2];
    if (this.reach === null || this.shape !== w / h) {
      this.shape = w / h;
      this.reach = this.fitting(w, h);
    }
    this.eye = (this.radius * this.reach) / this.zoom;
    if (this.grid) this.drawGrid();
    const pieces = this.items.flatMap((item) => this.pieces(item));
    pieces.sort((a, b) => a.depth - b.depth);
    for (const piece of pieces) piece.paint(g);
    g.globalAlpha = 1;
    this.labels = [];
    for (const item of this.items) if (item.label) this.drawLabel(item);
  }

  // Screen place and nearness of a point; null behind the eye.
  project(p) {
    const d = V.sub(p, this.center), z = V.dot(d, this.back), away = this.eye - z;
    if (away < 0.02 * this.eye) return null;
    const s = this.focal / away;
    return [this.mid[0] + V.dot(d, this.right) * s, this.mid[1] - V.dot(d, this.top) * s, z, s];
  }

  pieces(item) {
    const out = [];
    if (item.line) {
      const n = item.line.length - 1;
      for (let i = 0; i < n; i++) {
        const a = this.project(item.line[i]), b = this.project(item.line[i + 1]);
        if (!a || !b) continue;
        const width = item.metres ? Math.max(1.5, item.metres * (a[3] + b[3]) / 2) : item.width || 1.5;
        const alpha = (item.alpha ?? 1) * (item.fade ? 0.25 + 0.75 * (i / n) : 1);
        out.push({ depth: (a[2] + b[2]) / 2 + (item.lift || 0), paint(g) {
          g.globalAlpha = alpha; g.strokeStyle = item.color; g.lineWidth = width; g.lineCap = item.cap || "round";
          g.setLineDash(item.dash || []);
          g.beginPath(); g.moveTo(a[0], a[1]); g.lineTo(b[0], b[1]); g.stroke(); g.setLineDash([]);
        } });
      }
    }
    if (item.face) {
      const at = item.face.map((p) => this.project(p));
      if (at.every(Boolean)) out.push({ depth: at.reduce((s, p) => s + p[2], 0) / at.length, paint(g) {
        g.globalAlpha = item.alpha ?? 0.15; g.fillStyle = item.color;
        g.beginPath(); at.forEach((p, i) => (i ? g.lineTo(p[0], p[1]) : g.moveTo(p[0], p[1]))); g.closePath(); g.fill();
        if (item.edge) { g.globalAlpha = item.edge; g.strokeStyle = item.color; g.lineWidth = 1.2; g.stroke(); }
      } });
    }
    if (item.dot) {
      const p = this.project(item.dot);
      if (p) out.push({ depth: p[2] + 1e-3, paint(g) {
        g.globalAlpha = item.alpha ?? 1; g.fillStyle = item.color;
        g.beginPath(); g.arc(p[0], p[1], item.size || 4, 0, 7); g.fill();
      } });
    }
    return out;
  }

  drawLabel(item) {
    const p = this.project(item.label.at), g = this.g;
    if (!p) return;
    g.font = "600 12.5px system-ui, sans-serif";
    g.textBaseline = "middle";
    const wide = g.measureText(item.label.text).width;
    let x = p[0] + 10, y = p[1] - 12;
    const taken = () => this.labels.some((o) => Math.abs(o.y - y) < 22 && x < o.x + o.wide + 14 && o.x < x + wide + 14);
    while (taken()) y -= 23;
    this.labels.push({ x, y, wide });
    g.strokeStyle = item.color; g.lineWidth = 1; g.globalAlpha = 0.6;
    g.beginPath(); g.moveTo(p[0], p[1]); g.lineTo(x - 2, y + 6); g.stroke();
    g.globalAlpha = 0.85;
    g.fillStyle = css("--card");
    g.beginPath(); g.roundRect(x - 6, y - 10, wide + 12, 20, 6); g.fill();
    g.globalAlpha = 1;
    g.fillStyle = item.color;
    g.fillText(item.label.text, x, y + 0.5);
  }

  drawGrid() {
    const g = this.g, steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];
    const step = steps.find((s) => s > this.radius / 5) || 10, half = Math.ceil((this.radius * 1.6) / step);
    const middle = V.add(this.center, V.scale(this.up, this.floor - V.dot(this.center, this.up)));
    const snap = (axis) => Math.round(V.dot(middle, axis) / step) * step - V.dot(middle, axis);
    const base = V.add(V.add(middle, V.scale(this.east, snap(this.east))), V.scale(this.north, snap(this.north)));
    const corner = (i, j) => this.project(V.add(base, V.add(V.scale(this.east, i * step), V.scale(this.north, j * step))));
    g.strokeStyle = css("--grid");
    g.lineWidth = 1;
    for (let i = -half; i <= half; i++) {
      g.globalAlpha = 0.75 * (1 - Math.abs(i) / (half + 1));
      for (const [a, b] of [[corner(i, -half), corner(i, half)], [corner(-half, i), corner(half, i)]]) {
        if (!a || !b) continue;
        g.beginPath(); g.moveTo(a[0], a[1]); g.lineTo(b[0], b[1]); g.stroke();
      }
    }
    g.globalAlpha = 1;
    this.gridStep = step;
  }
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
