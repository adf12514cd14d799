// SPDX-License-Identifier: Apache-2.0
// Light or dark: as the system has it, unless somebody chose.
import { computed, effect, signal } from "@preact/signals";
import { PARTS } from "../parts/list";

const KEY = "fathom.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(system.matches);
system.addEventListener("change", () => {
  systemIsDark.value = system.matches;
});

const chosen = signal(localStorage.getItem(KEY) ?? "");

export const isDark = computed(() => (chosen.value ? chosen.value === "dark" : systemIsDark.value));

export const toggleTheme = (): void => {
  chosen.value = isDark.value ? "light" : "dark";
  localStorage.setItem(KEY, chosen.value);
};

/** Colours of the parts, in their order. */
export const partColours = computed(() => PARTS.map((part) => (isDark.value ? part.dark : part.light)));

const read = new Map<string, string>(); // variables of the theme: to ask the browser takes longer than to draw

/** A variable of main.css, for canvases. */
export const variable = (name: string): string => {
  let value = read.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    if (value) read.set(name, value);
  }
  return value;
};

effect(() => {
  document.documentElement.dataset.theme = isDark.value ? "dark" : "light";
  read.clear();
  partColours.value.forEach((colour, i) => document.documentElement.style.setProperty(`--part-${PARTS[i].key}`, colour));
});
