// The panel's words, in English and Chinese. Both have the same names.

const seconds = (ms) => (ms / 1000).toFixed(ms < 9_950 ? 1 : 0);

const en = {
  title: "Oncegate",
  intents: (count) => (count === 1 ? "1 intent" : `${count} intents`),
  empty: "Nothing has been sent yet.",
  noIntent: "without an intent",
  copy: "Copy log",
  copied: "Copied",
  state: { idle: "not sent", running: "under way", done: "done", failed: "failed", unknown: "not known" },
  type: {
    "click-coalesced": ({ changed }) => (changed ? "another click, with other content: held" : "another click: held"),
    resumed: () => "goes on under the same key",
    send: ({ send }) => `send ${send}`,
    answer: ({ status, idempotencyStatus, state }) => `answer ${status}${idempotencyStatus ?? state ? `, ${idempotencyStatus ?? state}` : ", no proof"}`,
    "network-error": ({ reason }) => `no answer (${reason})`,
    cancel: () => "has the gate cancel it",
    lookup: () => "asks the gate what became of it",
    "tab-wait": () => "lets another tab go first",
    wait: ({ waitMs, offline }) => (offline ? "waits to be online" : `waits ${seconds(waitMs)} s`),
    settled: ({ outcome, reason, replayed }) => [outcome, reason, replayed && "replayed"].filter(Boolean).join(", "),
    "storage-missing": () => "the key will not survive a reload",
    "wasm-blocked": () => "WebAssembly is forbidden here: the JavaScript engine runs",
  },
};

const zh = {
  title: "Oncegate",
  intents: (count) => `${count} 个意图`,
  empty: "还没有发送过请求。",
  noIntent: "没有意图名",
  copy: "复制日志",
  copied: "已复制",
  state: { idle: "未发送", running: "进行中", done: "已完成", failed: "未执行", unknown: "尚不清楚" },
  type: {
    "click-coalesced": ({ changed }) => (changed ? "又一次点击，内容不同：已拦下" : "又一次点击：已拦下"),
    resumed: () => "用同一个键继续",
    send: ({ send }) => `第 ${send} 次发送`,
    answer: ({ status, idempotencyStatus, state }) => `答复 ${status}${idempotencyStatus ?? state ? `，${idempotencyStatus ?? state}` : "，无凭据"}`,
    "network-error": ({ reason }) => `没有答复（${reason}）`,
    cancel: () => "请网关取消",
    lookup: () => "向网关查询结果",
    "tab-wait": () => "让另一个标签页先行",
    wait: ({ waitMs, offline }) => (offline ? "等待网络恢复" : `等待 ${seconds(waitMs)} 秒`),
    settled: ({ outcome, reason, replayed }) => [zh.state[outcome], reason, replayed && "重放"].filter(Boolean).join("，"),
    "storage-missing": () => "键无法在刷新后保留",
    "wasm-blocked": () => "此页禁止 WebAssembly：改用 JavaScript 引擎",
  },
};

export const wordsOf = (lang) => (/^zh\b/i.test(lang) ? zh : en);
