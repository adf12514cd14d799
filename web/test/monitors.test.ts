// SPDX-License-Identifier: Apache-2.0
// Monitors: their order, their words, and the strip of their states.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Monitor, type State, headline, shownValue, sorted, stretches, stripWords } from "../src/monitors/data";

const monitor = (name: string, state: State) => ({ name, state }) as Monitor;
const change = (ms: number, state: State) => ({ at_unix_ns: `${ms}000000`, state });

test("what is red stands first", () => {
  const list = [monitor("b", "ok"), monitor("a", "ok"), monitor("z", "alert"), monitor("y", "no_data"), monitor("x", "warn")];
  assert.deepEqual(sorted(list).map((m) => m.name), ["z", "x", "y", "a", "b"]);
  assert.equal(headline(list), "1 of 5 monitors is red");
  assert.equal(headline(list.slice(0, 2)), "Nothing is red");
  assert.equal(headline([monitor("x", "warn")]), "1 of 1 monitors warns");
});

test("a strip has the states of its time, cut at both ends", () => {
  const history = [change(100, "ok"), change(400, "alert"), change(700, "ok")];
  assert.deepEqual(stretches(history, 300, 1000), [
    { state: "ok", fromMs: 300, toMs: 400 }, { state: "alert", fromMs: 400, toMs: 700 }, { state: "ok", fromMs: 700, toMs: 1000 }]);
  assert.deepEqual(stretches(history.slice(2), 300, 1000), [{ state: "no_data", fromMs: 300, toMs: 700 }, { state: "ok", fromMs: 700, toMs: 1000 }]);
  assert.deepEqual(stretches([], 0, 10), [{ state: "no_data", fromMs: 0, toMs: 10 }]);
  assert.equal(stripWords(stretches(history, 300, 1000)), "red for 300 ms, once");
  assert.equal(stripWords([]), "never red");
});

test("values have their units", () => {
  assert.deepEqual([shownValue(312e6, "ns"), shownValue(0.023, "ratio"), shownValue(4.1, "per_s"), shownValue(50e6, "ns_per_s")],
    ["312 ms", "2.3 %", "4.1/s", "50.0 ms/s"]);
});
