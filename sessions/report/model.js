// The identified object: forward kinematics and what to draw for each joint and handle.
const PALETTE = ["#2f6fed", "#e0662b", "#12a37c", "#a855d8", "#c99700", "#dd4477", "#0c98bd", "#7a8a12"];

class Model {
  constructor(nodes) {
    this.nodes = nodes.map((node, i) => ({ ...node, color: PALETTE[i % PALETTE.length] }));
    this.byName = Object.fromEntries(this.nodes.map((n) => [n.name, n]));
    this.q = {};
    for (const c of this.coordinates()) this.q[c.id] = Math.min(Math.max(0, c.lower), c.upper);
  }

  // Every degree of freedom with its range; one without stops gets a range to play in.
  coordinates() {
    return this.nodes.flatMap((node) => Object.entries(node.limits).map(([key, [low, high]]) => {
      const free = key === "turn" ? Math.PI : 0.5;
      return { id: `${node.name}.${key}`, node, key, lower: low ?? -free, upper: high ?? free, stops: low !== null && high !== null };
    }));
  }

  // Frames in the world: where each joint's origin is, and where its moving side is.
  frames(q = this.q) {
    const out = { root: { moved: M.identity() } };
    for (const node of this.nodes) {
      const parent = (out[node.parent] || out.root).moved;
      const fixed = M.mul(parent, node.origin);
      const motion = M.motion(q[`${node.name}.turn`] || 0, q[`${node.name}.slide`] || 0);
      out[node.name] = { fixed, moved: M.mul(M.mul(fixed, motion), node.child) };
    }
    return out;
  }

  // Depth first, as the object hangs together.
  tree(parent = "root", depth = 0) {
    return this.nodes.filter((n) => n.parent === parent).flatMap((node) => [{ node, depth }, ...this.tree(node.name, depth + 1)]);
  }

  isHandle(node) { return node.type.startsWith("handle"); }

  extent(node) { return node.limits.slide ? Math.abs((node.limits.slide[1] ?? 0.3) - (node.limits.slide[0] ?? 0)) : 0; }

  items(scale, labels = true) {
    const frames = this.frames(), out = [];
    for (const node of this.nodes) {
      const { fixed, moved } = frames[node.name];
      const parent = frames[node.parent] || frames.root;
      if (node.parent !== "root") out.push({ line: [M.origin(parent.moved), M.origin(fixed)], color: css("--muted"), width: 4, alpha: 0.45 });
      out.push(...(this.isHandle(node) ? this.handle(node, fixed, moved) : this.joint(node, fixed, moved, scale)));
      if (labels) out.push({ color: node.color, label: { at: this.labelPlace(node, fixed, moved), text: node.name } });
    }
    return out;
  }

  labelPlace(node, fixed, moved) {
    if (this.isHandle(node)) return M.at(fixed, [0, 0, this.extent(node)]);
    return node.limits.turn && node.radius ? M.at(moved, [node.radius * 0.55, 0, 0]) : M.origin(moved);
  }

  joint(node, fixed, moved, scale) {
    const color = node.color, out = [], half = node.radius ? Math.max(0.45 * node.radius, 0.06) : 0.25 * scale;
    if (node.limits.turn) {
      const reach = node.radius || 0.12 * scale, [low, high] = this.range(node, "turn");
      out.push({ line: [M.at(fixed, [0, 0, -half]), M.at(fixed, [0, 0, half])], color, width: 4.5 });
      out.push({ line: [M.at(fixed, [0, 0, -half * 1.7]), M.at(fixed, [0, 0, half * 1.7])], color, width: 1.2, dash: [6, 5], alpha: 0.8 });
      const arc = spread(low, high, 40).map((a) => M.at(fixed, [reach * Math.cos(a), reach * Math.sin(a), 0]));
      for (let i = 0; i + 1 < arc.length; i++) out.push({ face: [M.origin(fixed), arc[i], arc[i + 1]], color, alpha: 0.1 });
      out.push({ line: arc, color, width: 2, alpha: 0.9 });
      out.push({ face: [[0, -half], [reach, -half], [reach, half], [0, half]].map(([x, z]) => M.at(moved, [x, 0, z])), color, alpha: 0.2, edge: 0.75 });
      out.push({ line: [M.origin(moved), M.at(moved, [reach, 0, 0])], color, width: 2.4 }, { dot: M.at(moved, [reach, 0, 0]), color, size: 5 });
    } else if (node.limits.slide) {
      const [low, high] = this.range(node, "slide"), size = Math.max(0.06, 0.25 * (high - low));
      out.push({ line: [M.at(fixed, [0, 0, low]), M.at(fixed, [0, 0, high])], color, width: 4.5 });
      out.push({ line: [M.at(fixed, [0, 0, low - 0.25 * (high - low)]), M.at(fixed, [0, 0, high + 0.25 * (high - low)])], color, width: 1.2, dash: [6, 5], alpha: 0.8 });
      for (const end of [low, high]) out.push({ dot: M.at(fixed, [0, 0, end]), color, size: 4, alpha: 0.6 });
      out.push({ face: [[-size, -size], [size, -size], [size, size], [-size, size]].map(([x, y]) => M.at(moved, [x, y, 0])), color, alpha: 0.22, edge: 0.75 });
    } else {
      out.push({ dot: M.origin(fixed), color, size: 6 });
    }
    return out;
  }

  handle(node, fixed, moved) {
    const color = node.color, out = [], length = this.extent(node);
    const [low, high] = length ? this.range(node, "slide") : [-0.03, 0.03];
    out.push({ line: [M.at(fixed, [0, 0, low]), M.at(fixed, [0, 0, high])], color, metres: 2 * (node.radius || 0.008), alpha: 0.95 });
    if (node.limits.turn) {
      const [from, to] = this.range(node, "turn"), at = M.origin(moved), r = 0.07;
      const flat = M.mul(fixed, M.motion(0, this.q[`${node.name}.slide`] || 0));
      const arc = spread(from, to, 24).map((a) => M.at(flat, [r * Math.cos(a), r * Math.sin(a), 0]));
      for (let i = 0; i + 1 < arc.length; i++) out.push({ face: [at, arc[i], arc[i + 1]], color, alpha: 0.14 });
    }
    // The gripper: palm and two fingers around the grip, in its own frame (x across the jaws, y forward).
    const ink = css("--ink"), tip = (x, y) => M.at(moved, [x, y, 0]);
    const jaw = 0.022, palm = -0.07;
    out.push({ line: [tip(-jaw, 0.012), tip(-jaw, palm), tip(jaw, palm), tip(jaw, 0.012)], color: ink, metres: 0.007, alpha: 0.8 });
    out.push({ line: [tip(0, palm), tip(0, palm - 0.06)], color: ink, metres: 0.016, alpha: 0.8 });
    return out;
  }

  range(node, key) {
    const c = this.coordinates().find((entry) => entry.id === `${node.name}.${key}`);
    return [c.lower, c.upper];
  }
}

const spread = (from, to, n) => Array.from({ length: n + 1 }, (_, i) => from + ((to - from) * i) / n);
