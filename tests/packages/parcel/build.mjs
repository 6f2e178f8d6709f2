import { Parcel } from "@parcel/core";

const bundler = new Parcel({
  entries: "index.html",
  defaultConfig: "@parcel/config-default",
  mode: "production",
  shouldDisableCache: true,
  defaultTargetOptions: { distDir: "out", publicUrl: "/" },
});
await bundler.run();
