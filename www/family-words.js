/** The texts of the family's page that belong to no scenario. */

const en = {
  title: "Ember & Clay · what else happens once",
  skip: "Skip to the scenarios",
  familyTitle: "What else happens once",
  toShop: "Back to the till",
  contents: "Scenarios",
  familyIntro: "The till is not the only place where things happen twice. Each card makes it happen, for real, and reads from the gate and from the shop’s database what became of it.",
  familyBoot: "This page could not be started: its scripts do not run in this browser.",
  familyClosed: "The shop behind this page is not one that may be played with, so the buttons do nothing. Start one that is: cargo xtask up",
  familyFooter: "What is marked “this page” was counted here; everything else was read from the gate and from the shop.",
  without: "Without protection:",
  boardEmpty: "Nothing has happened yet. Press a button.",
  source_page: "This page",
  source_program: "The shop’s program says",
  source_gate: "The gate says",
  source_shop: "The shop’s database says",
  unread: "cannot be read",
  running: "Doing it, and reading what became of it …",
  couldNotRun: ({ reason }) => `This could not be shown: ${reason}`,
  guide: ({ page }) => `More about it: ${page}`,
};

const zh = {
  title: "炉与陶 · 还有什么只发生一次",
  skip: "跳到场景",
  familyTitle: "还有什么只发生一次",
  toShop: "回到收银台",
  contents: "场景",
  familyIntro: "会重复发生的不只是付款。下面每张卡片都真的让它发生一遍，再从网关和商店的数据库里读出结果。",
  familyBoot: "本页没能启动：这个浏览器没有运行它的脚本。",
  familyClosed: "本页背后的商店不能拿来试验，所以按钮都不起作用。请启动一家可以试验的：cargo xtask up",
  familyFooter: "标着“本页”的由本页计数，其余都读自网关和商店。",
  without: "没有保护时：",
  boardEmpty: "还什么都没发生。点一个按钮。",
  source_page: "本页",
  source_program: "商店的程序说",
  source_gate: "网关说",
  source_shop: "商店的数据库说",
  unread: "读不到",
  running: "正在执行，并读取结果……",
  couldNotRun: ({ reason }) => `没能演示：${reason}`,
  guide: ({ page }) => `了解更多：${page}`,
};

export const frame = { en, zh };
