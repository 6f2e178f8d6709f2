// How the panel looks. A constructed style sheet: a page's Content-Security-Policy has nothing to say about it.

export const STYLE = `
/* The page says whether it is light or dark. */
:host { display: block; font: 13px/1.45 ui-sans-serif, system-ui, "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif;
  --paper: light-dark(#fbfaf8, #17181b); --card: light-dark(#fff, #202227); --ink: light-dark(#1d2127, #e9eaec); --muted: light-dark(#636b76, #9aa2ad);
  --line: light-dark(#e2e0db, #33363d); --good: light-dark(#0b6e4f, #6fd3ae); --bad: light-dark(#a3261c, #ff9c90); --open: light-dark(#8a5a00, #f1c069); --send: light-dark(#1f5aa8, #8ebcf5);
  color: var(--ink); background: var(--paper); border: 1px solid var(--line); border-radius: 12px; overflow: hidden; }
:host([hidden]) { display: none; }
header { display: flex; align-items: baseline; gap: 8px; padding: 10px 14px; border-bottom: 1px solid var(--line); }
h2 { margin: 0; font-size: 13px; font-weight: 650; letter-spacing: .01em; }
header p { margin: 0; color: var(--muted); font-size: 12px; }
ul, ol { list-style: none; margin: 0; padding: 0; }
.intents { display: grid; gap: 8px; padding: 10px; max-height: 26em; overflow-y: auto; scrollbar-width: thin; }
.empty { padding: 18px 14px; color: var(--muted); text-align: center; }
details { background: var(--card); border: 1px solid var(--line); border-radius: 8px; --state: var(--muted); }
details[data-state="done"] { --state: var(--good); }
details[data-state="failed"] { --state: var(--bad); }
details:is([data-state="unknown"], [data-state="running"]) { --state: var(--open); }
summary { display: grid; grid-template-columns: 10px 1fr auto; gap: 2px 8px; align-items: center; padding: 8px 12px; cursor: pointer; list-style: none; border-radius: 8px; }
summary::-webkit-details-marker { display: none; }
:focus-visible { outline: 2px solid var(--send); outline-offset: -2px; }
.dot { width: 9px; height: 9px; border-radius: 50%; background: var(--state); }
details[data-state="running"] .dot { animation: beat 1s ease-in-out infinite alternate; }
@keyframes beat { to { opacity: .25; } }
@media (prefers-reduced-motion: reduce) { .dot { animation: none !important; } }
.intent { font-weight: 600; overflow-wrap: anywhere; }
.state { color: var(--state); font-weight: 600; white-space: nowrap; }
.line { grid-column: 2 / -1; margin: 0; color: var(--muted); font-size: 12px; overflow-wrap: anywhere; }
.events { border-top: 1px solid var(--line); padding: 6px 12px 4px; font-variant-numeric: tabular-nums; }
.events li { display: grid; grid-template-columns: 4.5em 1fr; gap: 8px; padding: 2px 0; }
.events time { color: var(--muted); text-align: right; font: 11px/1.65 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.events li[data-type="send"] span { color: var(--send); }
.events li:is([data-type="network-error"], [data-type="storage-missing"]) span { color: var(--bad); }
.events li:is([data-type="wait"], [data-type="tab-wait"], [data-type="click-coalesced"]) span { color: var(--muted); }
.events li[data-type="settled"] span { color: var(--state); font-weight: 600; }
footer { display: flex; justify-content: space-between; align-items: center; gap: 8px; padding: 4px 12px 8px; }
code { font: 11px/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; color: var(--muted); overflow-wrap: anywhere; }
button { font: inherit; font-size: 12px; color: inherit; background: none; border: 1px solid var(--line); border-radius: 6px; padding: 2px 8px; cursor: pointer; white-space: nowrap; }
button:hover { border-color: var(--muted); }
`;
