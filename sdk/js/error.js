// A mistake in a request or an option: thrown before anything is sent. `code` says which, for programs.

export class OncegateError extends Error {
  constructor(code, message, options) {
    super(`oncegate: ${message}`, options);
    this.name = "OncegateError";
    this.code = code;
  }
}
