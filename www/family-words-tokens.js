/** The texts of the one-time tokens. */

const en = {
  tokens_title: "One-time tokens",
  tokens_without: "a server looks the token up, sees it unused, does the work and deletes it. Between look and delete there is a gap: of a hundred requests at once, seven got through in one shop. Delete it first, and a failure in between costs the customer the order.",
  tokens_do_many: "Use one token 20 times at once",
  tokens_hint_many: "twenty copies of this page, and the SDK in each",
  tokens_do_changed: "Use it again for something else",
  tokens_hint_changed: "nine bags instead of one",
  tokens_do_forged: "Forge three tokens",
  tokens_hint_forged: "one made up, one changed, one plain key",
  tokens_row_copies: "copies that sent it",
  tokens_row_told: "what they were told",
  tokens_row_again: "the second order was answered",
  tokens_row_forgeries: "forgeries sent",
  tokens_row_answers: "answered",
  tokens_row_state: "state of the operation",
  tokens_row_attempts: "tries at the shop",
  tokens_row_orders: "orders under the token",
  tokens_row_pieces: "bags sold",
  tokens_once: ({ copies, paid }) => `${copies} uses, ${paid === 1 ? "one order" : `${paid} orders`}. Every copy heard its answer.`,
  tokens_spent: ({ paid }) => (paid === 1 ? "A token is good for one order and nothing else." : `${paid} orders under one token.`),
  tokens_refused: ({ forgeries }) => `None of the ${forgeries} got past the gate: whoever has no secret makes no token.`,
};

const zh = {
  tokens_title: "一次性令牌",
  tokens_without: "服务器先查令牌，看到没用过，就去办事，再把它删掉。查和删之间有空隙：某店一百个请求同时到，放过了七个。如果先删再办，中间一出错，顾客的订单就没了。",
  tokens_do_many: "同一个令牌同时用 20 次",
  tokens_hint_many: "本页的二十个副本，各有一份 SDK",
  tokens_do_changed: "拿它再做别的事",
  tokens_hint_changed: "一袋改成九袋",
  tokens_do_forged: "伪造三个令牌",
  tokens_hint_forged: "一个编造，一个改过，一个普通的键",
  tokens_row_copies: "发送它的副本",
  tokens_row_told: "它们得到的答复",
  tokens_row_again: "第二个订单的答复",
  tokens_row_forgeries: "发出的伪造令牌",
  tokens_row_answers: "答复",
  tokens_row_state: "操作的状态",
  tokens_row_attempts: "到店次数",
  tokens_row_orders: "这个令牌下的订单",
  tokens_row_pieces: "售出袋数",
  tokens_once: ({ copies, paid }) => `用了 ${copies} 次，${paid} 个订单。每个副本都得到了答复。`,
  tokens_spent: ({ paid }) => (paid === 1 ? "一个令牌只够一个订单，别的都不行。" : `一个令牌下有 ${paid} 个订单。`),
  tokens_refused: ({ forgeries }) => `${forgeries} 个都没能通过网关：没有密钥，就造不出令牌。`,
};

export const tokensWords = { en, zh };
