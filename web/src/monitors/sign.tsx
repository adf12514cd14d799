// SPDX-License-Identifier: Apache-2.0
// Says in other views that a monitor is red.
import { duration, many, short } from "../lib/format";
import { unixMs } from "../lib/json";
import { red } from "./data";

/** In the head of the page. */
export const RedLink = () => (
  <span role="status">
    {red.value.length > 0 && <a class="red-link" href="/monitors">{many(red.value.length, "monitor is red", "monitors are red")}</a>}
  </span>
);

/** Above the overview. */
export const RedList = () => red.value.length ? (
  <ul class="red-list" aria-label="Red monitors">
    {red.value.map((one) => (
      <li key={one.name}>
        <a href="/monitors"><strong><bdi>{short(one.name, 60)}</bdi></strong></a>{" "}
        <bdi>{short(one.text, 200)}</bdi> <span class="faint">for {duration((Date.now() - unixMs(one.since_unix_ns)) * 1e6)}</span>
      </li>
    ))}
  </ul>
) : null;
