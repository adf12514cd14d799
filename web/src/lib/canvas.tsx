// SPDX-License-Identifier: Apache-2.0
// A canvas that is drawn in pixels of CSS, as large as the element around it.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { isDark } from "./theme";

export type Draw = (context: CanvasRenderingContext2D, width: number, height: number) => void;

interface Props {
  readonly draw: Draw;
  readonly height: number;
  readonly label: string;
  readonly class?: string;
  readonly children?: ComponentChildren;
  readonly events?: Record<string, (event: never) => void>;
  readonly sized?: (width: number) => void;
}

export const Canvas = ({ draw, height, label, children, events, sized, ...rest }: Props) => {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const dark = isDark.value; // drawn again when it changes
  useLayoutEffect(() => {
    if (!box.current) return;
    const measure = () => {
      const now = box.current?.clientWidth ?? 0;
      setWidth(now);
      sized?.(now);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    measure();
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || !width) return;
    const scale = devicePixelRatio || 1;
    element.width = Math.round(width * scale);
    element.height = Math.round(height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, width, height);
  }, [draw, width, height, dark]);
  return (
    <div ref={box} class={`canvas ${rest.class ?? ""}`} style={{ height: `${height}px` }} {...events}>
      <canvas ref={canvas} role="img" aria-label={label} style={{ width: "100%", height: `${height}px` }} />
      {children}
    </div>
  );
};
