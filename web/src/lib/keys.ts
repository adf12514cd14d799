// SPDX-License-Identifier: Apache-2.0
// Keys of a view, which `?` lists.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

export interface Key {
  readonly keys: readonly string[]; // as KeyboardEvent.key has them
  readonly shown: string;
  readonly what: string;
  readonly run: (event: KeyboardEvent) => void;
}

/** The keys of the views that are shown, the newest last. */
export const shownKeys = signal<readonly (readonly Key[])[]>([]);

const isTyped = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Enter and space on a link or a button are its own. */
const isPressed = (event: KeyboardEvent): boolean =>
  (event.key === "Enter" || event.key === " ") && event.target instanceof Element && event.target.closest("a, button") !== null;

/** Binds keys while a view is shown. They do nothing while somebody types, but for Escape. */
export const useKeys = (keys: readonly Key[]): void => {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (isTyped(event.target) && event.key !== "Escape") return;
      if (isPressed(event)) return;
      const key = current.current.find((k) => k.keys.includes(event.key));
      if (!key) return;
      event.preventDefault();
      key.run(event);
    };
    const mine = current.current;
    shownKeys.value = [...shownKeys.value, mine];
    addEventListener("keydown", press);
    return () => {
      removeEventListener("keydown", press);
      shownKeys.value = shownKeys.value.filter((list) => list !== mine);
    };
  }, []);
};
