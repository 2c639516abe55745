import assert from "node:assert/strict";
import test from "node:test";
import { human } from "../src/units";
import cases from "../../../graph/testdata/format.json";

// The same cases as the test of graph.Format.
test("numbers read as the server writes them", () => {
  for (const [value, unit, want] of cases as [number | null, string, string][]) {
    assert.equal(human(value, unit), want, `${value} ${unit}`);
  }
});
