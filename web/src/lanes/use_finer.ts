// SPDX-License-Identifier: Apache-2.0
// Asks again for the part of the time that is seen, when that stays for a moment. The old picture stays meanwhile.
import { useEffect, useRef, useState } from "preact/hooks";
import { query } from "../lib/api";
import type { Time, Trace } from "../trace/model";
import { Session } from "../trace/session";
import type { TimeView } from "../trace/time_view";
import { covers, finerRange, type Known, placed } from "./finer";

const QUIET_MS = 200; // without a change of what is seen

interface Finer extends Known {
  readonly session: Session;
  readonly trace: Trace;
}

interface Asked extends Known {
  readonly session: Session;
}

/** What tells more of a view than the whole trace does; undefined: nothing, or it is not there yet. */
export const useFiner = (whole: Trace, time: Time, view: TimeView, host: string | undefined): Finer | undefined => {
  const [finer, setFiner] = useState<Finer | undefined>();
  const shown = useRef<Finer | undefined>(undefined);
  const asked = useRef<Asked | undefined>(undefined);
  const ask = (range: TimeView) => {
    const unix = (ns: number) => String(BigInt(whole.beginUnixNs) + BigInt(ns));
    const session = new Session(query("lanes/columns", { from: unix(range.from), to: unix(range.to), host }));
    asked.current?.session.close();
    asked.current = { ...range, joinedBelowNs: 0, session }; // as if it told all, until it is known
    session.trace.subscribe((trace) => {
      if (!trace?.time) return;
      shown.current?.session.close();
      shown.current = { session, ...placed(whole, trace) };
      asked.current = undefined;
      setFiner(shown.current);
    });
    session.error.subscribe((error) => {
      if (error && asked.current?.session === session) asked.current = undefined; // the old picture stays
    });
  };
  useEffect(() => {
    if (whole.cpus) return undefined;
    const timer = setTimeout(() => {
      const known = [asked.current, shown.current, { from: time.from, to: time.to, joinedBelowNs: time.joinedBelowNs }].filter((one) => one !== undefined);
      const range = finerRange(known, view);
      if (range) ask(range);
    }, QUIET_MS);
    return () => clearTimeout(timer);
  }, [view.from, view.to, finer]);
  useEffect(() => () => {
    asked.current?.session.close();
    shown.current?.session.close();
  }, []);
  return finer && covers(finer, view) ? finer : undefined;
};
