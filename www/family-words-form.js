/** The texts of the form without code. */

const en = {
  form_title: "A form without a line of code",
  form_without: "a form is sent as often as its button is pressed. A greyed-out button comes too late for the second click, and is gone after a reload.",
  form_article: "Article",
  form_mug: "Mug",
  form_beans: "Coffee beans",
  form_order: "Order one",
  form_reset: "Begin another order",
  form_do_five: "Press its button five times",
  form_hint_five: "as fast as a hand cannot",
  form_row_presses: "times it was sent off",
  form_row_state: "state of the operation",
  form_row_attempts: "tries at the shop",
  form_row_orders: "orders",
  form_invalid: "Nothing was sent: the form is not filled in as it should be.",
  form_once: ({ presses }) => (presses === 1 ? "Sent once, ordered once. Press it again: nothing more happens until you begin another order." : `Sent off ${presses} times, ordered once. The attribute data-oncegate did that, and a one-time token.`),
};

const zh = {
  form_title: "一行代码都不用的表单",
  form_without: "按钮按几次，表单就提交几次。变灰的按钮挡不住第二下，刷新之后也就不灰了。",
  form_article: "商品",
  form_mug: "杯子",
  form_beans: "咖啡豆",
  form_order: "订一件",
  form_reset: "另下一单",
  form_do_five: "连按五次",
  form_hint_five: "比手还快",
  form_row_presses: "提交次数",
  form_row_state: "操作的状态",
  form_row_attempts: "到店次数",
  form_row_orders: "订单",
  form_invalid: "什么都没有提交：表单没有填好。",
  form_once: ({ presses }) => (presses === 1 ? "提交一次，下单一次。再按也不会多出什么，除非另下一单。" : `提交 ${presses} 次，下单一次。靠的是 data-oncegate 这个属性和一次性令牌。`),
};

export const formWords = { en, zh };
