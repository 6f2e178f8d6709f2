/**
 * Shelf and basket: the catalogue of GET /catalog and what the visitor took from it.
 *
 * Invariant: nodes are made once per product and then updated, so that a stepper keeps the focus while it is used.
 */

import { byId, el, isUnavailable, picture, setUnavailable } from "./dom.js";
import { language, money, t } from "./i18n.js";

/** After this long the shelves count as empty, and the till opens without them. */
const PATIENCE_MS = 8_000;
const PICTURES = new Set(["beans", "cup", "dripper", "kettle", "mug", "tin"]);
const LOW_STOCK = 5;
const MOST_SHOWN = 99;

/** `onCatalogue` hears when prices and stock have arrived. */
export function createShop({ cart, onCatalogue }) {
  const shelf = byId("shelf");
  const note = byId("shelf-note");
  let products = [];
  let cards = [];
  let locked = false;

  /** Reads the catalogue again; a failure is shown on the shelf and can be repeated there. */
  async function load() {
    try {
      const answer = await fetch("/catalog", { signal: AbortSignal.timeout(PATIENCE_MS) });
      if (!answer.ok) throw new Error(`GET /catalog answered ${answer.status}`);
      show((await answer.json()).products);
    } catch {
      if (products.length === 0) note.replaceChildren(t("shelfFailed"), " ", el("button", { type: "button", class: "quiet", onclick: load }, t("shelfRetry")));
    }
  }

  function show(catalogue) {
    const sameShelf = catalogue.length === cards.length && catalogue.every((product, n) => product.sku === cards[n].sku);
    products = catalogue;
    cart.startWith(products.filter((product) => product.stock > 0).slice(0, 2).map((product) => product.sku));
    if (sameShelf) refresh();
    else build();
    onCatalogue();
  }

  function build() {
    note.textContent = products.length === 0 ? t("shelfLoading") : "";
    cards = products.map((product) => productCard(product, step));
    shelf.replaceChildren(...cards.map((card) => card.root));
    refresh();
  }

  function step(product, by) {
    if (!locked) cart.setQuantity(product.sku, cart.quantity(product.sku) + by);
  }

  function refresh() {
    cards.forEach((card, n) => card.update(products[n].stock, cart.quantity(card.sku), locked));
    byId("basket").replaceChildren(...basketLines());
    byId("basket-empty").hidden = cart.lines().length > 0;
    byId("total").textContent = money(total());
  }

  function basketLines() {
    return chosen().map(({ product, quantity }) => el("li", {},
      el("span", { class: "quantity" }, `${quantity} ×`),
      el("span", { class: "name" }, nameOf(product)),
      el("span", { class: "price" }, money(product.price_cents * quantity))));
  }

  function chosen() {
    return products.map((product) => ({ product, quantity: cart.quantity(product.sku) })).filter(({ quantity }) => quantity > 0);
  }

  function total() {
    return chosen().reduce((sum, { product, quantity }) => sum + product.price_cents * quantity, 0);
  }

  return {
    load,
    build,
    refresh,
    total,
    /** While a payment is open the basket stays as it was sent. */
    lock(value) {
      locked = value;
      refresh();
    },
  };
}

function productCard(product, step) {
  const name = nameOf(product);
  const quantity = el("output", { class: "quantity", "data-testid": `qty-${product.sku}` });
  const stock = el("p", { class: "stock" });
  const less = stepper("−", t("less", { name }), `qty-minus-${product.sku}`, () => step(product, -1));
  const more = stepper("+", t("add", { name }), `qty-plus-${product.sku}`, () => step(product, 1));
  const root = el("li", { class: "product", "data-sku": product.sku },
    el("div", { class: "stage" }, picture(PICTURES.has(product.sku) ? product.sku : "parcel")),
    el("h3", {}, name),
    el("p", { class: "price" }, money(product.price_cents)),
    stock,
    el("div", { class: "stepper", role: "group", "aria-label": name }, less, quantity, more));

  function update(left, count, locked) {
    stock.textContent = stockText(left);
    stock.classList.toggle("low", left <= LOW_STOCK);
    quantity.textContent = String(count);
    root.classList.toggle("chosen", count > 0);
    setUnavailable(less, locked || count === 0);
    setUnavailable(more, locked || count >= left);
  }

  return { root, sku: product.sku, update };
}

function stepper(sign, label, testId, act) {
  const button = el("button", { type: "button", "aria-label": label, "data-testid": testId }, sign);
  button.addEventListener("click", () => !isUnavailable(button) && act());
  return button;
}

function nameOf(product) {
  return language() === "zh" ? product.name_zh : product.name;
}

function stockText(stock) {
  if (stock === 0) return t("soldOut");
  return t(stock <= LOW_STOCK ? "lowStock" : "inStock", { stock: stock > MOST_SHOWN ? `${MOST_SHOWN}+` : stock });
}
