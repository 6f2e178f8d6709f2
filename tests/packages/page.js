import { order } from "./app.js";

order().catch(String).then((word) => (document.title = word));
