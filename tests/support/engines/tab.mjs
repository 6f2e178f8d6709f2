// What a customer does in a tab, the same in every engine. A driver below it offers goto, call, perform, reload, back, picture and close.

import { until } from "../stack.mjs";

const ENTER = "\uE007";

export class Tab {
  constructor(driver) {
    this.driver = driver;
  }

  /** Loads a page and waits for its load event. */
  open(url) {
    return this.driver.goto(url);
  }

  /** Calls a function in the page, and gives its result, awaited, as JSON can carry it. */
  async run(action, ...args) {
    const source = `async (json) => JSON.stringify(await (${action})(...JSON.parse(json))) ?? "null"`;
    return JSON.parse(await this.driver.call(source, JSON.stringify(args)));
  }

  /** Asks the page until it says yes. A page that is about to be replaced by another cannot answer: it is asked again. */
  wait(action, ...args) {
    return until(() => this.run(action, ...args).catch((error) => void (this.trouble = error)), Boolean, 20_000).catch((error) => {
      throw new Error(`${error.message}; asked: ${action}`, { cause: this.trouble });
    });
  }

  /** Presses the mouse on an element; `times` with `gapMs` between release and press. The browser counts the clicks itself. */
  async click(selector, { times = 1, gapMs = 0 } = {}) {
    const at = await this.run((where) => {
      const element = document.querySelector(where);
      element.scrollIntoView({ block: "center" });
      const { x, y, width, height } = element.getBoundingClientRect();
      return { x: Math.round(x + width / 2), y: Math.round(y + height / 2) };
    }, selector);
    const press = [{ type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 }];
    const rest = gapMs > 0 ? [{ type: "pause", duration: gapMs }] : [];
    const presses = Array.from({ length: times }, (_, index) => [...(index > 0 ? rest : []), ...press]).flat();
    const actions = [{ type: "pointerMove", duration: 0, ...at }, ...presses];
    await this.driver.perform([{ type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions }]);
  }

  /** Focuses an element and presses Enter. */
  async enter(selector, times = 1) {
    await this.run((where) => document.querySelector(where).focus(), selector);
    const press = [{ type: "keyDown", value: ENTER }, { type: "keyUp", value: ENTER }];
    await this.driver.perform([{ type: "key", id: "keys", actions: Array.from({ length: times }, () => press).flat() }]);
  }

  /** Takes the page's thread away most of the time, as a slow processor does: it has one part in `rate`. */
  slow(rate) {
    return this.run((parts) => {
      const share = 5;
      const spin = () => {
        for (const end = performance.now() + share * (parts - 1); performance.now() < end; );
        setTimeout(spin, share);
      };
      setTimeout(spin);
    }, rate);
  }

  reload() {
    return this.driver.reload();
  }

  /** Goes back in history; the page that appears may have been kept or be a new one. */
  back() {
    return this.driver.back();
  }

  close() {
    return this.driver.close();
  }
}
