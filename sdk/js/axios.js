// The entry `oncegate/axios`: an axios instance whose requests that change something are sent by the SDK.
// axios still does what is its own: addresses, XSRF tokens, transformations, statuses.
//
// Invariant: nothing is sent past the SDK. An axios that cannot be given a fetch would do that silently, so it is tried first.

import { createFetch, isKeyed } from "oncegate/fetch";

export function installOncegate(axios, options) {
  const fetch = createFetch(options);
  let taking;
  const id = axios.interceptors.request.use(async (config) => {
    if (!isKeyed(config.method)) return config;
    taking ??= takesFetch(axios);
    if (!(await taking)) throw new Error("oncegate: this axios sends with a fetch of its own; update it to 1.12 or newer");
    const { intent, ignore } = config;
    const fetchOptions = { ...config.fetchOptions, intent, ignore };
    return Object.assign(config, { adapter: "fetch", env: { ...config.env, fetch }, fetchOptions });
  });
  return () => axios.interceptors.request.eject(id);
}

/** Whether axios asks the fetch that it is given, for something that is not on any network. */
async function takesFetch(axios) {
  let isAsked = false;
  const fetch = async () => ((isAsked = true), new Response());
  const request = { baseURL: "", url: "data:,", method: "get", adapter: "fetch", env: { fetch } };
  await axios.create().request(request).catch(() => {});
  return isAsked;
}
