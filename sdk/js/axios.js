// The entry `oncegate/axios`: an axios instance whose requests that change something are sent by the SDK.
// axios still does what is its own: addresses, XSRF tokens, transformations, statuses.

import { createFetch, isKeyed } from "oncegate/fetch";

export function installOncegate(axios, options) {
  const fetch = createFetch(options);
  const id = axios.interceptors.request.use((config) => {
    if (!isKeyed(config.method)) return config;
    const { intent, ignore } = config;
    const fetchOptions = { ...config.fetchOptions, intent, ignore };
    return Object.assign(config, { adapter: "fetch", env: { ...config.env, fetch }, fetchOptions });
  });
  return () => axios.interceptors.request.eject(id);
}
