import assert from "node:assert/strict";
import test from "node:test";
import { appendTail, type Drawing, type Line, shareOf, stateAt, stateOf, statsOf } from "../src/drawing";
import { listed } from "../src/editor";
import { extent, layersOf, looksOf } from "../src/layers";
import { lineColour, lineDash } from "../src/palette";
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

test("a line that ended has no last value, one whose newest step is not there yet has", () => {
  const d = drawing([0, 10], line("ended", [1, 2]), line("late", [1, 2]));
  assert.ok(appendTail(d, drawing([20, 30, 40], line("ended", [null, null, null]), line("late", [3, null, null])), 0));
  const [ended, late] = d.panels![0]!.lines!;
  assert.deepEqual(ended!.stats, { last: null, min: 1, mean: 1.5, max: 2 });
  assert.equal(human(ended!.stats.last, "s"), "–");
  assert.equal(late!.stats.last, 3);
});

test("a tail leaves the figures as the server counts them: of the line, not of the band around it", () => {
  const banded = (v: number[]): Line => ({ ...line("x", v), min: v.map((n) => n - 5), max: v.map((n) => n + 5) });
  const d = drawing([0, 10], banded([3, 4]));
  assert.ok(appendTail(d, drawing([20], banded([5])), 0));
  assert.deepEqual(d.panels![0]!.lines![0]!.stats, { last: 5, min: 3, mean: 4, max: 5 });
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

test("lines of several servers are not stacked on each other, and no two look the same", () => {
  const lines = ["db1", "db2", "db3", "db4"].flatMap((server) => ["a", "b", "c", "d", "e"].map((name) => ({ ...line(name, [1, 2], "stack"), server })));
  const limits = ["db1", "db2"].map((server) => ({ ...line("limit", [9, 9], "limit"), server }));
  const d = drawing([0, 1], ...lines, ...limits);
  const l = layersOf(d, d.panels![0]!, () => true);
  for (const layer of l.layers) assert.deepEqual(l.columns[layer.place], layer.line.v);
  assert.ok(l.layers.every((layer) => layer.under === undefined && layer.style !== "stack"));
  const looks = looksOf(d.panels![0]!).map(({ colour }) => lineColour(colour) + JSON.stringify(lineDash(colour)));
  assert.equal(new Set(looks).size, looks.length, looks.join("\n"));
  const banded = lines.slice(0, 6).map((one) => ({ ...one, style: "line" as const, min: one.v, max: one.v }));
  const bands = (some: Line[]): number => layersOf(drawing([0, 1], ...some), { title: "", unit: "", lines: some }, () => true).layers.filter((layer) => layer.high !== undefined).length;
  assert.deepEqual([bands(banded), bands(banded.slice(0, 5))], [0, 5]);
  // One server's own stack stays one.
  const alone = drawing([0, 1], ...lines.slice(0, 5));
  assert.deepEqual(layersOf(alone, alone.panels![0]!, () => true).columns[5], [5, 10]);
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

// The same as graph's own figures of strips.
test("a strip says states and the share of the time, not numbers", () => {
  const strip = (v: (number | null)[], unit = ""): Line => ({ ...line("applier", v, "strip"), unit, states: ["yes", "connecting", "no"] });
  const l = strip([1, 1, 0.5, 0, null]);
  assert.deepEqual(l.v.map((_, i) => stateAt(l, i)), ["yes", "yes", "connecting", "no", "–"]);
  assert.equal(shareOf(l), "50 % yes");
  const mixed = { ...strip([0.907, 0.5]), min: [0, 0.5], max: [1, 0.5] };
  assert.deepEqual([stateAt(mixed, 0), stateAt(mixed, 1), shareOf(mixed)], ["90.7 % yes", "connecting", "45.35 % yes"]);
  assert.deepEqual([100, 50, 0].map((v) => stateOf(strip([v], "%"), v)), [0, 1, 2]);
  assert.equal(shareOf(strip([null])), "–");
});

test("the preview names all servers that it draws", () => {
  assert.equal(listed(["a"]), "a");
  assert.equal(listed(["a", "b"]), "a and b");
  assert.equal(listed(["a", "b", "c", "d", "e", "f"]), "a, b, c and 3 more");
});

test("limits are kept in sight where they are near", () => {
  const columns = [[0, 1], [4, 10]];
  const limit = (value: number, more = {}) => ({ value, level: "warn" as const, name: "x", ...more });
  assert.ok(extent(columns, [1], undefined, undefined, false, [limit(18)])[1] >= 18);
  assert.ok(extent(columns, [1], undefined, undefined, false, [limit(500)])[1] < 12);
  assert.ok(extent(columns, [1], undefined, undefined, false, [limit(500, { always: true })])[1] >= 500);
  assert.ok(extent([[0], [null]], [1], undefined, undefined, false, [limit(5)])[1] === 1);
});
