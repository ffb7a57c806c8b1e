"use strict";
// Vectors are arrays of 3; frames are 4×4 by rows, as in the data.
const V = {
  add: (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]],
  sub: (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]],
  scale: (a, s) => [a[0] * s, a[1] * s, a[2] * s],
  dot: (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2],
  cross: (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]],
  norm: (a) => Math.hypot(a[0], a[1], a[2]),
  unit: (a) => V.scale(a, 1 / (V.norm(a) || 1)),
  mix: (a, b, t) => [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t],
};
const M = {
  identity: () => [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
  mul(a, b) {
    const c = new Array(16).fill(0);
    for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) for (let k = 0; k < 4; k++) c[4 * i + j] += a[4 * i + k] * b[4 * k + j];
    return c;
  },
  // Slide along z, then turn about z: every joint and handle moves like this.
  motion(turn, slide) {
    const c = Math.cos(turn), s = Math.sin(turn);
    return [c, -s, 0, 0, s, c, 0, 0, 0, 0, 1, slide, 0, 0, 0, 1];
  },
  at: (m, p) => [0, 1, 2].map((i) => m[4 * i] * p[0] + m[4 * i + 1] * p[1] + m[4 * i + 2] * p[2] + m[4 * i + 3]),
  origin: (m) => [m[3], m[7], m[11]],
  axis: (m, k) => [m[k], m[4 + k], m[8 + k]],
};
