// SPDX-License-Identifier: Apache-2.0
// The page: finds the view of an address.
import "./early";
import type { JSX } from "preact";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { followLinks, place } from "./lib/address";
import { Empty } from "./lib/states";
import { lazy } from "./lib/lazy";
import { Overview } from "./overview/view";
import { Shell } from "./shell";

// the overview is what most people open first; each other view comes when it is opened
const Compare = lazy(() => import("./compare/view").then((view) => view.Compare));
const Coverage = lazy(() => import("./coverage/view").then((view) => view.Coverage));
const Lanes = lazy(() => import("./lanes/view").then((view) => view.Lanes));
const Live = lazy(() => import("./live/view").then((view) => view.Live));
const ServiceMap = lazy(() => import("./map/view").then((view) => view.ServiceMap));
const Monitors = lazy(() => import("./monitors/view").then((view) => view.Monitors));
const Operation = lazy(() => import("./operation/view").then((view) => view.Operation));
const Search = lazy(() => import("./search/view").then((view) => view.Search));
const TraceView = lazy(() => import("./trace/view").then((view) => view.TraceView));
const Where = lazy(() => import("./where/view").then((view) => view.Where));

interface View {
  readonly title: string;
  readonly shown: JSX.Element;
}

const viewOf = (path: readonly string[]): View => {
  const [first, second, third] = path;
  if (!first) return { title: "Overview", shown: <Overview /> };
  if (first === "t" && second) return { title: `Trace ${second.slice(0, 8)}`, shown: <TraceView key={second} id={second} /> };
  if (first === "o" && second && third) return { title: third, shown: <Operation key={path.join("/")} service={second} name={third} /> };
  if (first === "search") return { title: "Search", shown: <Search /> };
  if (first === "where") return { title: "Where", shown: <Where /> };
  if (first === "compare") return { title: "Compare", shown: <Compare /> };
  if (first === "map") return { title: "Map", shown: <ServiceMap /> };
  if (first === "lanes") return { title: "Threads", shown: <Lanes /> };
  if (first === "coverage") return { title: "Coverage", shown: <Coverage /> };
  if (first === "monitors") return { title: "Monitors", shown: <Monitors /> };
  if (first === "live") return { title: "Live", shown: <Live /> };
  return {
    title: "Not found",
    shown: <Empty title="There is no such view"><p>The <a href="/">overview</a> lists what there is.</p></Empty>,
  };
};

const Page = () => {
  const view = viewOf(place.value.path);
  useEffect(() => {
    document.title = `${view.title} – fathom`;
  }, [view.title]);
  return <Shell>{view.shown}</Shell>;
};

followLinks();
render(<Page />, document.getElementById("page") as HTMLElement);
