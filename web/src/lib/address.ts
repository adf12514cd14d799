// SPDX-License-Identifier: Apache-2.0
// The address of the page, which holds all of a view's state.
import { signal } from "@preact/signals";

export interface Place {
  readonly path: readonly string[]; // decoded
  readonly query: URLSearchParams;
}

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const read = (): Place => ({
  path: location.pathname.split("/").filter(Boolean).map(decode),
  query: new URLSearchParams(location.search),
});

export const place = signal<Place>(read());

export type Values = Record<string, string | number | null | undefined>;

const text = (path: readonly string[], query: URLSearchParams): string => {
  const words = path.map((word) => (word === "." || word === ".." ? word.replace(/\./g, "%2E") : encodeURIComponent(word)));
  const values = query.toString();
  return `/${words.join("/")}${values ? `?${values}` : ""}`;
};

/** An address within the page. */
export const addressOf = (path: readonly string[], values: Values = {}): string => {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) if (value !== null && value !== undefined && value !== "") query.set(key, String(value));
  return text(path, query);
};

export const go = (address: string): void => {
  history.pushState(null, "", address);
  place.value = read();
  scrollTo(0, 0);
};

/** Changes values of the query; null takes one out. A step of the way back unless it replaces. */
export const setQuery = (values: Values, replaces = true): void => {
  const query = new URLSearchParams(place.value.query);
  for (const [key, value] of Object.entries(values)) {
    if (value === null || value === undefined || value === "") query.delete(key);
    else query.set(key, String(value));
  }
  const address = text(place.value.path, query);
  if (replaces) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  place.value = read();
};

addEventListener("popstate", () => {
  place.value = read();
});

/** Follows links within the page without loading it again. */
export const followLinks = (): void => {
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const to = new URL(link.getAttribute("href") ?? "", location.href); // links in drawings have no members of their own
    if (to.origin !== location.origin || link.hasAttribute("target") || to.pathname.startsWith("/api/")) return;
    event.preventDefault();
    go(to.pathname + to.search);
  });
};
