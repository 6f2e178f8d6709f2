/** The texts of the queues. */

const en = {
  queues_title: "Queues: at least once",
  queues_without: "a Cloudflare Queue promises to deliver at least once. A sender that is not sure sends again, a consumer whose answer is lost gets the message again, and what the message asks for is done twice.",
  queues_do_five: "Send one message five times",
  queues_hint_five: "five messages in the queue, which name one fact",
  queues_do_lost: "Lose the shop’s answer",
  queues_hint_lost: "it has done the work: the queue brings the message again after 5 s",
  queues_row_sent: "messages put into the queue",
  queues_row_state: "state of the operation",
  queues_row_attempts: "calls of the shop",
  queues_row_notices: "messages to the customer",
  queues_once: ({ sent }) => `${sent} messages, one call of the shop, and the customer was told once.`,
  queues_again: "The shop was called a second time and found that it was done. The customer was told once.",
  queues_wrong: ({ count }) => `The customer was told ${count} times.`,
  queues_closed: "This gate has no queue to show, or the shop does not know its gate: cargo xtask up starts both.",
};

const zh = {
  queues_title: "队列：至少一次",
  queues_without: "Cloudflare 队列只保证至少送达一次。发送方没把握就再发一遍，消费方的答复丢了，消息就再来一遍，要办的事也就办了两遍。",
  queues_do_five: "同一条消息发五次",
  queues_hint_five: "队列里有五条消息，说的是同一件事",
  queues_do_lost: "弄丢商店的答复",
  queues_hint_lost: "事情已经办了：5 秒后队列再送一次",
  queues_row_sent: "放入队列的消息",
  queues_row_state: "操作的状态",
  queues_row_attempts: "调用商店的次数",
  queues_row_notices: "发给顾客的通知",
  queues_once: ({ sent }) => `${sent} 条消息，商店只被调用一次，顾客只收到一条通知。`,
  queues_again: "商店被第二次调用，发现已经办过。顾客只收到一条通知。",
  queues_wrong: ({ count }) => `顾客收到了 ${count} 条通知。`,
  queues_closed: "这个网关没有可演示的队列，或者这家店不知道它的网关：cargo xtask up 会把两者都启动。",
};

export const queuesWords = { en, zh };
