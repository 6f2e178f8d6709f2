/** The texts of the webhooks. */

const en = {
  webhooks_title: "Webhooks: the payment provider calls back",
  webhooks_without: "a provider sends the same callback two, three, five times, sometimes all at once. A shop that handles each one ships twice, credits twice and says “thank you” twice; and whoever knows the address can send one, too.",
  webhooks_do_five: "Call back five times at once",
  webhooks_hint_five: "the same event, signed",
  webhooks_do_two: "Send two events about one payment",
  webhooks_hint_two: "two identities, one payment number",
  webhooks_do_tampered: "Change the amount on the way",
  webhooks_hint_tampered: "one cent, under the old signature",
  webhooks_row_sent: "deliveries",
  webhooks_row_heard: "the provider heard",
  webhooks_row_attempts: "tries at the shop",
  webhooks_row_operations: "the two events",
  webhooks_row_status: "the order",
  webhooks_row_payments: "payments noted",
  webhooks_row_owed: "side effects owed",
  webhooks_once: ({ times }) => `${times} deliveries, one payment, and each was acknowledged in the provider’s word.`,
  webhooks_fact: "Two events for the gate, one payment for the shop: the unique index on the payment number stopped the second.",
  webhooks_refused: "Refused in the provider’s own word, and the shop never heard of it.",
};

const zh = {
  webhooks_title: "Webhook：支付平台的回调",
  webhooks_without: "支付平台会把同一个回调发两次、三次、五次，有时还同时到。每次都处理的商店会发两次货、记两次账、道两次谢；而且谁知道地址，谁就能发一个。",
  webhooks_do_five: "同时回调五次",
  webhooks_hint_five: "同一个事件，带签名",
  webhooks_do_two: "为一笔付款发两个事件",
  webhooks_hint_two: "两个标识，一个支付号",
  webhooks_do_tampered: "半路改掉金额",
  webhooks_hint_tampered: "改成一分钱，签名照旧",
  webhooks_row_sent: "投递次数",
  webhooks_row_heard: "平台得到的答复",
  webhooks_row_attempts: "到店次数",
  webhooks_row_operations: "这两个事件",
  webhooks_row_status: "订单状态",
  webhooks_row_payments: "记下的付款",
  webhooks_row_owed: "欠下的后续动作",
  webhooks_once: ({ times }) => `投递 ${times} 次，付款一笔，每次都用平台自己的词确认。`,
  webhooks_fact: "对网关是两个事件，对商店是一笔付款：支付号上的唯一索引拦下了第二个。",
  webhooks_refused: "用平台自己的词拒绝了，商店根本没听说。",
};

export const webhooksWords = { en, zh };
