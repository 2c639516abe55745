import assert from "node:assert/strict";
import test from "node:test";
import { axisLabels, axisTicks, human, increments } from "../src/units";
import axes from "../../../graph/testdata/axis.json";
import cases from "../../../graph/testdata/format.json";

// The same cases as the test of graph.Format.
test("numbers read as the server writes them", () => {
  for (const [value, unit, want] of cases as [number | null, string, string][]) {
    assert.equal(human(value, unit), want, `${value} ${unit}`);
  }
});

test("axes of times and bytes have several ticks, each with a label of its own", () => {
  for (const [unit, most] of [["days", 0.0007], ["days", 0.02], ["days", 0.6], ["days", 40], ["s", 0.00004], ["s", 7], ["s", 5000], ["ms", 0.3], ["ms", 90000], ["bytes", 3e9], ["bytes/s", 700]] as const) {
    const labels = axisLabels(axisTicks(0, most, 180, increments(unit)!), unit);
    assert.ok(labels.length >= 3 && labels.length <= 7 && new Set(labels).size === labels.length && new Set(labels.map((l) => l.split(" ")[1])).size === 1, `${most} ${unit}: ${labels.join(", ")}`);
  }
  // The same cases as the test of the pictures that the server draws.
  for (const [ticks, unit, want] of axes as [number[], string, string[]][]) assert.deepEqual(axisLabels(ticks, unit), want);
  assert.deepEqual(axisTicks(-3, 5, 150, [1, 2, 4]), [-2, 0, 2, 4]);
});
