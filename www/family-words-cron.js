/** The texts of the jobs that the clock starts. */

const en = {
  cron_title: "Cron: the night’s settlement",
  cron_without: "schedulers promise to fire at least once. With two instances, a restart at the wrong minute or a run by hand, merchants are paid twice, and nobody can tell a second run that was wanted from one that was not.",
  cron_do_five: "Fire one slot five times",
  cron_hint_five: "all at once",
  cron_do_named: "Run it again, on purpose",
  cron_hint_named: "once by the clock, then under a name, and the name twice",
  cron_row_slot: "the slot",
  cron_row_fired: "times it fired",
  cron_row_name: "name of the second run",
  cron_row_states: "the two calls were",
  cron_row_runs: "runs of the slot",
  cron_byTheClock: "by the clock",
  cron_row_settlements: "settlements begun",
  cron_once: ({ fired }) => `Fired ${fired} times, run once.`,
  cron_named: "Run once by the clock and once under its name; the name called twice is still one run.",
  cron_wrong: ({ settlements }) => `${settlements} settlements were begun.`,
  cron_closed: "Only a local gate lets its clock be struck, and the shop has to know it: cargo xtask up starts both.",
};

const zh = {
  cron_title: "定时任务：夜间结算",
  cron_without: "调度器只保证至少触发一次。两个实例、不巧的重启，或有人手工跑一遍，商户就被结算两次，而且分不清第二次是有意还是无意。",
  cron_do_five: "同一个时点触发五次",
  cron_hint_five: "同时触发",
  cron_do_named: "有意再跑一次",
  cron_hint_named: "先由时钟跑一次，再以一个名字跑，这个名字叫两遍",
  cron_row_slot: "时点",
  cron_row_fired: "触发次数",
  cron_row_name: "第二次运行的名字",
  cron_row_states: "两次调用的结果",
  cron_row_runs: "该时点的运行",
  cron_byTheClock: "由时钟",
  cron_row_settlements: "开始的结算",
  cron_once: ({ fired }) => `触发 ${fired} 次，只运行一次。`,
  cron_named: "时钟跑了一次，以名字又跑了一次；同一个名字叫两遍，仍只算一次。",
  cron_wrong: ({ settlements }) => `一共开始了 ${settlements} 次结算。`,
  cron_closed: "只有本机的网关才能由人敲钟，商店也要知道它的网关：cargo xtask up 会把两者都启动。",
};

export const cronWords = { en, zh };
