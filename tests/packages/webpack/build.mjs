import webpack from "webpack";

const compiler = webpack({ mode: "production", entry: "../page.js", output: { path: `${import.meta.dirname}/out`, clean: true } });
compiler.run((error, stats) => {
  if (!error && !stats.hasErrors() && !stats.hasWarnings()) return;
  console.error(error ?? stats.toString({ all: false, errors: true, warnings: true }));
  process.exitCode = 1;
});
