// What to tell the customer. Every text says what to do next.

const TEXTS = {
  en: {
    pending: ["Sending your order …", "Please wait. Clicking again sends nothing twice."],
    waiting: ["The connection is slow. We keep trying.", "Please leave this page open, and do not pay again."],
    checking: ["We are looking up your payment.", "Please wait. Nothing is sent twice."],
    cancelling: ["We are cancelling your payment.", "Please wait until we know that nothing is charged."],
    done: ["Your payment went through.", "It was made once. There is nothing more to do."],
    changed: [
      "This order is already paid.",
      "It was paid before your last change, which is not part of it. Do not pay again.",
    ],
    refused: ["Your order was not accepted.", "Nothing was charged. Check your details and try again."],
    cancelled: ["This payment was cancelled.", "Nothing was charged. You can try again."],
    unknown: [
      "We are checking your payment. Do not pay again.",
      "It may have gone through. Ask again on this page in a moment: that never makes a second payment.",
    ],
    unsent: ["Nothing was sent.", "You can try again."],
    key_too_old: [
      "We cannot see what became of your payment. Do not pay again.",
      "Please contact us: we will look it up for you.",
    ],
  },
  zh: {
    pending: ["正在提交订单……", "请稍候。重复点击不会重复提交。"],
    waiting: ["网络较慢，我们正在重试。", "请不要关闭本页，也不要再次支付。"],
    checking: ["正在查询您的付款。", "请稍候，不会重复提交。"],
    cancelling: ["正在取消您的付款。", "请稍候，直到确认没有扣款。"],
    done: ["支付成功。", "只扣款一次，无需其他操作。"],
    changed: ["该订单已支付。", "支付发生在您最后一次修改之前，该修改未包含在内。请勿再次支付。"],
    refused: ["订单未被接受。", "没有扣款。请核对信息后重试。"],
    cancelled: ["本次支付已取消。", "没有扣款。您可以重试。"],
    unknown: ["我们正在确认您的付款，请勿再次支付。", "付款可能已经成功。请稍后在本页重新查询，不会产生第二笔扣款。"],
    unsent: ["尚未发送任何内容。", "您可以重试。"],
    key_too_old: ["我们无法确认您的付款结果，请勿再次支付。", "请联系我们，由我们为您查询。"],
  },
};

export function messages(outcome, lang = "en") {
  const texts = /^zh\b/i.test(lang) ? TEXTS.zh : TEXTS.en;
  const [title, text] = texts[caseOf(outcome)];
  return { title, text };
}

function caseOf(outcome) {
  if (typeof outcome === "string") return outcome === "failed" ? "refused" : outcome;
  const { outcome: kind, changed, reason, sends } = outcome;
  if (kind === "done") return changed ? "changed" : "done";
  if (kind === "failed") return reason;
  if (sends === 0) return "unsent";
  return reason === "key_too_old" ? reason : "unknown";
}
