// Files that any server can serve.

export default { output: "export", distDir: "out", turbopack: { root: `${import.meta.dirname}/..` } };
