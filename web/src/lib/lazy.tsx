// SPDX-License-Identifier: Apache-2.0
// Views whose script comes when they are opened.
import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Loading } from "./states";

/** A view that says that it loads until its script is there. A script that does not come is asked for again when the view is. */
export const lazy = <Props extends object>(load: () => Promise<ComponentType<Props>>): ((props: Props) => JSX.Element) => {
  let loaded: ComponentType<Props> | undefined;
  return (props) => {
    const [failed, setFailed] = useState(false);
    const [, setLoaded] = useState(false);
    useEffect(() => {
      if (!loaded) load().then((view) => { loaded = view; setLoaded(true); }, () => setFailed(true));
    }, []);
    const View = loaded;
    if (View) return <View {...props} />;
    return failed ? <p class="state failed" role="alert">The server does not answer, or has another version of this page. <a href="" target="_self">Load it again</a></p> : <Loading what="Loading the view" />;
  };
};
