// SPDX-License-Identifier: Apache-2.0
// Takes pictures of views in both modes and two widths.
import { mkdirSync } from "node:fs";
import path from "node:path";

const SIZES = [[1280, 800], [2560, 1440]];

/** Views are [name, address, what is there once the picture can be taken, what is done before, if anything]. */
export const picturesOf = async (page, out, views) => {
  mkdirSync(out, { recursive: true });
  for (const [width, height] of SIZES) {
    await page.setViewportSize({ width, height });
    for (const mode of ["light", "dark"]) {
      await page.goto("/");
      await page.evaluate((theme) => localStorage.setItem("fathom.theme", theme), mode);
      for (const [name, address, ready, act] of views) {
        await page.goto(address);
        await page.locator(ready).first().waitFor();
        if (act) await act(page);
        await page.locator("[role=status].loading").first().waitFor({ state: "detached" });
        await page.screenshot({ path: path.join(out, `${name}-${mode}-${width}.png`) });
      }
    }
  }
};
