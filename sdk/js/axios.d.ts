import type { Oncegate } from "oncegate";

/**
 * Has the SDK send the POST, PUT, PATCH and DELETE requests of an axios instance (1.12 or newer).
 * `axios.post(url, data, { intent: "cart-42" })` names what the customer wants.
 *
 * A refusal rejects as axios has it, with `error.response`. If there is no answer, the error's `cause` is a
 * `NoResponseError` of `oncegate/fetch`, and `error.cause.result` says what is known.
 *
 * @returns What takes it out again.
 */
export function installOncegate(axios: AxiosLike, options?: { client?: Oncegate }): () => void;

/** What an axios instance has. */
export interface AxiosLike {
  interceptors: { request: { use(onFulfilled: (config: any) => any): number; eject(id: number): void } };
}

declare module "axios" {
  interface AxiosRequestConfig {
    /** What the customer wants, such as `"cart-42"`. */
    intent?: string;
    /** As in the client's `submit`. */
    ignore?: string[];
  }
}
