import assert from "node:assert/strict";
import test from "node:test";
import { appendTail, type Drawing, type Line, statsOf } from "../src/drawing";
import { extent, layersOf } from "../src/layers";
import { human } from "../src/units";

const line = (name: string, v: (number | null)[], style: Line["style"] = "line"): Line => ({ name, expr: name, unit: "", style, v, stats: statsOf({ v } as Line) });
const drawing = (t: number[], ...lines: Line[]): Drawing => ({ id: "g", title: "g", server: "a", from: "", to: "", step: 10, tier: "raw", t, panels: [{ title: "", unit: "", lines }], marks: [] });

test("a tail replaces the steps it covers, drops what lies before the range and keeps gaps", () => {
  const d = drawing([0, 10, 20, 30], line("x", [1, 2, null, 4]));
  assert.ok(appendTail(d, drawing([30, 40, 50], line("x", [5, 6, null])), 10));
  assert.deepEqual(d.t, [10, 20, 30, 40, 50]);
  assert.deepEqual(d.panels![0]!.lines![0]!.v, [2, null, 5, 6, null]);
  assert.equal(d.panels![0]!.lines![0]!.stats.last, 6);
});

test("a tail that does not fit is refused", () => {
  const base = (): Drawing => drawing([0, 10], line("x", [1, 2]));
  assert.ok(!appendTail(base(), { ...drawing([20], line("x", [3])), step: 60 }, 0));
  assert.ok(!appendTail(base(), drawing([20], line("y", [3])), 0));
  assert.ok(!appendTail(base(), drawing([40], line("x", [3])), 0), "a hole between them");
});

test("stacked lines add up, and a gap stays a gap", () => {
  const d = drawing([0, 1, 2], line("a", [1, null, 3], "stack"), line("b", [10, null, null], "stack"));
  const l = layersOf(d, d.panels![0]!, () => true);
  assert.deepEqual(l.columns[2], [11, null, 3]);
  assert.equal(l.layers[1]!.under, 1);
});

test("axes begin at 0 and survive having no value", () => {
  assert.equal(extent([[], [5, 9]], [1])[0], 0);
  assert.deepEqual(extent([[], [null, null]], [1]), [0, 1]);
  assert.deepEqual(extent([[], [0, 0]], [1]), [0, 1]);
  assert.ok(extent([[], [-3, 2]], [1])[0] < -3);
});

test("no value is never 0", () => {
  assert.equal(human(null, "bytes"), "–");
  assert.equal(human(NaN, "%"), "–");
  assert.equal(human(1536, "bytes/s"), "1.5 KiB/s");
  assert.equal(human(0.00002, "s"), "20 µs");
});
