import assert from "node:assert/strict";
import test from "node:test";
import { ambiguous, full, tickLabels, timeTicks, unixOf } from "../src/zone";

const berlin = "Europe/Berlin";
const at = (iso: string): number => Date.parse(iso) / 1000;

test("a wall clock that comes twice means the first; one that does not exist the moment after the jump", () => {
  assert.equal(unixOf("2026-10-25T02:30", berlin), at("2026-10-25T00:30:00Z"));
  assert.equal(unixOf("2026-03-29T02:30", berlin), at("2026-03-29T01:30:00Z"));
  assert.equal(unixOf("2026-07-01T12:00", berlin), at("2026-07-01T10:00:00Z"));
  assert.equal(unixOf("yesterday", berlin), null);
});

test("the hour that comes twice carries its offset", () => {
  assert.ok(ambiguous(at("2026-10-25T00:30:00Z"), berlin));
  assert.ok(ambiguous(at("2026-10-25T01:30:00Z"), berlin));
  assert.ok(!ambiguous(at("2026-10-25T02:30:00Z"), berlin));
  assert.equal(full(at("2026-10-25T00:30:00Z"), berlin), "2026-10-25 02:30:00 +02:00");
  assert.equal(full(at("2026-10-25T01:30:00Z"), berlin), "2026-10-25 02:30:00 +01:00");
});

test("ticks stay on round wall clocks when the clocks change, and grow", () => {
  for (const [from, to] of [["2026-10-24T18:00:00Z", "2026-10-25T18:00:00Z"], ["2026-03-28T18:00:00Z", "2026-03-29T18:00:00Z"]] as const) {
    const ticks = timeTicks(at(from), at(to), 10, berlin);
    assert.ok(ticks.length > 4 && ticks.length <= 12, String(ticks.length));
    ticks.forEach((t, i) => {
      assert.ok(i === 0 || t > ticks[i - 1]!);
      assert.match(full(t, berlin), /\d\d:00:00/);
    });
  }
  const days = timeTicks(at("2026-10-20T00:00:00Z"), at("2026-10-30T00:00:00Z"), 12, berlin);
  assert.ok(days.every((t) => full(t, berlin).endsWith("00:00:00")), days.map((t) => full(t, berlin)).join());
});

test("both readings of the doubled hour are told apart on the axis", () => {
  const ticks = timeTicks(at("2026-10-24T23:00:00Z"), at("2026-10-25T03:00:00Z"), 10, berlin);
  const labels = tickLabels(ticks, berlin);
  assert.equal(new Set(labels).size, labels.length, labels.join(" "));
});

test("zones with half hours have round ticks too", () => {
  const ticks = timeTicks(at("2026-05-01T00:00:00Z"), at("2026-05-01T12:00:00Z"), 8, "Asia/Kolkata");
  assert.ok(ticks.every((t) => full(t, "Asia/Kolkata").endsWith(":00:00")));
});
